# Fuzzing of everything that reads what strangers wrote. `make fuzz` gives each target FUZZ_SECONDS; new
# inputs that reach new code are kept in $(BUILD)/fuzz/corpus, a crash stops with its input beside it.
FUZZ_SECONDS ?= 30
FUZZ_CC      ?= clang
FUZZ_FLAGS   := -std=c11 -g -O1 -fsanitize=fuzzer-no-link,address,undefined -fno-sanitize-recover=undefined \
                -fno-omit-frame-pointer -ffp-contract=off -D_GNU_SOURCE -Wall -Wextra -Werror -Wno-unknown-pragmas
FUZZ_TARGETS := $(patsubst checks/fuzz/fuzz_%.c,%,$(wildcard checks/fuzz/fuzz_*.c))
FUZZ_LIB     := $(patsubst %.c,$(BUILD)/fuzz/obj/%.o,$(LIB_SRC) emu/schedule.c)

$(BUILD)/fuzz/obj/lib/%.o: lib/%.c
	@mkdir -p $(@D)
	$(FUZZ_CC) $(FUZZ_FLAGS) -Ilib -MMD -MP -c $< -o $@
$(BUILD)/fuzz/obj/emu/%.o: emu/%.c
	@mkdir -p $(@D)
	$(FUZZ_CC) $(FUZZ_FLAGS) -Ilib -Iemu -MMD -MP -c $< -o $@
$(BUILD)/fuzz/obj/checks/fuzz/%.o: checks/fuzz/%.c
	@mkdir -p $(@D)
	$(FUZZ_CC) $(FUZZ_FLAGS) -Ilib -Iemu -MMD -MP -c $< -o $@
$(BUILD)/fuzz/fuzz_%: $(BUILD)/fuzz/obj/checks/fuzz/fuzz_%.o $(FUZZ_LIB)
	$(FUZZ_CC) -fsanitize=fuzzer,address,undefined -o $@ $^ -ljansson -lmd -lm
.PRECIOUS: $(BUILD)/fuzz/obj/checks/fuzz/%.o $(BUILD)/fuzz/fuzz_%

# Without clang nothing has been fuzzed, and that is a failure, not a pass.
.PHONY: fuzz fuzz-clang $(FUZZ_TARGETS:%=fuzz-%)
fuzz-clang: setup-fuzz
	@command -v $(FUZZ_CC) >/dev/null || { echo 'fuzz: needs $(FUZZ_CC) with libFuzzer: nothing was fuzzed' >&2; exit 1; }
fuzz: fuzz-clang
	+@for t in $(FUZZ_TARGETS); do $(MAKE) --no-print-directory fuzz-$$t || exit 1; done
	@echo 'fuzz: $(words $(FUZZ_TARGETS)) targets, $(FUZZ_SECONDS) s each, no finding'
$(FUZZ_TARGETS:%=fuzz-%): fuzz-%: $(BUILD)/fuzz/fuzz_%
	@mkdir -p $(BUILD)/fuzz/corpus/$* $(BUILD)/fuzz/found
	$< -max_total_time=$(FUZZ_SECONDS) -max_len=8192 -timeout=10 -rss_limit_mb=1024 -print_final_stats=1 \
	  -dict=checks/fuzz/words.dict -artifact_prefix=$(BUILD)/fuzz/found/$*- -verbosity=0 \
	  $(BUILD)/fuzz/corpus/$* $(wildcard checks/fuzz/seeds/$*)
