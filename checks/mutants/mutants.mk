# Kernels with one planted fault each, and the matrix that shows which check kills which.

MUTANT_NAMES := control control_device control_prints $(shell awk -F'[^a-z0-9_]+' '/^ +X/ {print $$2}' checks/mutants/mutants.h)
MUTANT_LIBS  := $(patsubst %,$(BUILD)/mutants/%.so,$(MUTANT_NAMES))

$(BUILD)/mutants/%.so: checks/mutants/kernel.c checks/mutants/mutants.h lib/mx_kernel.h
	@mkdir -p $(@D)
	$(CC) -std=c11 -g -O1 $(WARN) -ffp-contract=off -D_GNU_SOURCE -DMUTANT=$* -fPIC -fvisibility=hidden -Ilib \
	    -shared -o $@ $< -lm

$(BUILD)/obj/checks/mutants/%.o: checks/mutants/%.c
	@mkdir -p $(@D)
	$(CC) $(CFLAGS) $(INC_checks) -Ichecks/unit -MMD -MP -c $< -o $@

$(BUILD)/matrix: $(call obj,checks/mutants/matrix.c checks/unit/small_cases.c $(CHECK_SRC)) $(LIBMX)
	$(CC) $(LDFLAGS) -o $@ $^ $(CMD_LIBS)

# The unit tests of the runner use some of them.
$(BUILD)/unit: | $(MUTANT_LIBS)

.PHONY: mutants
mutants: $(BUILD)/matrix $(MUTANT_LIBS)
	$(BUILD)/matrix $(BUILD)/mutants $(patsubst %/manifest.json,%,$(wildcard vectors/manifest.json))

-include $(wildcard $(BUILD)/obj/checks/mutants/*.d)
