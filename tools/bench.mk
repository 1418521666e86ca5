# Speed, never a timed test. PYTHON with ml_dtypes and numpy adds one row.
.PHONY: bench
bench: $(BUILD)/mxcheck
	$(BUILD)/mxcheck bench --json $(BUILD)/bench.json --against '$(PYTHON) tools/bench_ml_dtypes.py'
