# mxcheck - see README.md. `make help` lists the targets.

CC       ?= cc
CXX      ?= c++
PYTHON   ?= python3
PREFIX   ?= /usr/local
DESTDIR  ?=
BUILD    ?= build
VERSION  := 0.1.0
JOBS     ?= $(shell nproc 2>/dev/null || echo 1)
NVCC     ?= $(firstword $(shell command -v nvcc 2>/dev/null) $(wildcard /usr/local/cuda/bin/nvcc))

# -ffp-contract=off: an FMA where the source has none changes bits. -Ofast and -ffast-math are banned.
WARN     := -Wall -Wextra -Werror -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wpointer-arith -Wvla
OPT      ?= -O3
CFLAGS   := -std=c11 -g $(OPT) $(WARN) -ffp-contract=off -fno-math-errno -fopenmp -D_GNU_SOURCE \
            -DMX_VERSION='"$(VERSION)"' $(EXTRA_CFLAGS)
LDFLAGS  += $(EXTRA_LDFLAGS)

# Only libc (with libm, libdl, libpthread) stays dynamic, so that the binary runs on a bare GPU node.
STATIC   := -Wl,-Bstatic
DYNAMIC  := -Wl,-Bdynamic
LIB_LIBS := $(STATIC) -lmpfr -lgmp -ljansson -lmd $(DYNAMIC) -lm -ldl -lpthread
CMD_LIBS := $(STATIC) -lgsl -lgslcblas -lgomp $(LIB_LIBS)

LIB_SRC   := $(wildcard lib/*.c)
EMU_SRC   := $(wildcard emu/*.c)
CHECK_SRC := $(wildcard checks/*.c)
TOOL_SRC  := $(wildcard tools/*.c)
UNIT_SRC  := $(wildcard checks/unit/*.c)
obj        = $(patsubst %.c,$(BUILD)/obj/%.o,$(1))
LIBMX     := $(BUILD)/libmxcheck.a

# Who may include whom: each folder gets only the -I it may have.
INC_lib    := -Ilib
INC_emu    := -Ilib -Iemu
INC_checks := -Ilib -Iemu -Ichecks
INC_tools  := -Ilib -Iemu -Ichecks -Itools -I$(BUILD)

.PHONY: all
all: $(BUILD)/mxcheck plugins

$(BUILD)/obj/lib/%.o: lib/%.c
	@mkdir -p $(@D)
	$(CC) $(CFLAGS) $(ISA) $(INC_lib) -MMD -MP -c $< -o $@
$(BUILD)/obj/emu/%.o: emu/%.c
	@mkdir -p $(@D)
	$(CC) $(CFLAGS) $(ISA) $(INC_emu) -MMD -MP -c $< -o $@
$(BUILD)/obj/checks/%.o: checks/%.c
	@mkdir -p $(@D)
	$(CC) $(CFLAGS) $(INC_checks) -MMD -MP -c $< -o $@
$(BUILD)/obj/tools/%.o: tools/%.c
	@mkdir -p $(@D)
	$(CC) $(CFLAGS) $(INC_tools) -MMD -MP -c $< -o $@

# Files that hold code for one instruction set say so in their name; the CPU is asked at run time.
$(BUILD)/obj/emu/%_avx2.o: ISA := -mavx2 -mfma -mf16c
$(BUILD)/obj/emu/%_avx512.o: ISA := -mavx512f -mavx512bw -mavx512vl -mavx512dq -mavx512vbmi -mfma -mf16c

$(LIBMX): $(call obj,$(LIB_SRC) $(EMU_SRC))
	@rm -f $@
	$(AR) rcs $@ $^

# Every tools/cmd_NAME.c defines `const command command_NAME`; the table is made from the file names.
$(BUILD)/commands.h: $(TOOL_SRC) Makefile
	@mkdir -p $(@D)
	@for c in $(patsubst tools/cmd_%.c,%,$(filter tools/cmd_%,$(TOOL_SRC))); do echo "COMMAND($$c)"; done > $@
$(call obj,$(TOOL_SRC)): $(BUILD)/commands.h

$(BUILD)/mxcheck: $(call obj,$(TOOL_SRC) $(CHECK_SRC)) $(LIBMX)
	$(CC) $(LDFLAGS) -static-libgcc -o $@ $^ $(CMD_LIBS)

# ---- plug-ins: bundled kernels, and kernels with one planted fault -------------------------------------
# Each set has its own rules in its own folder.
include $(wildcard checks/*.mk checks/*/*.mk gpu/*.mk tools/*.mk)

.PHONY: plugins
plugins: $(PLUGINS)

# ---- tests ----------------------------------------------------------------------------------------------
# Every checks/unit/test_NAME.c exports `Suite *test_NAME(void)`; slow_NAME.c likewise, for test-all.
SUITES := $(patsubst checks/unit/%.c,%,$(filter checks/unit/test_% checks/unit/slow_%,$(UNIT_SRC)))

$(BUILD)/suites.h: $(UNIT_SRC) Makefile
	@mkdir -p $(@D)
	@for s in $(SUITES); do echo "SUITE($$s)"; done > $@
$(call obj,$(UNIT_SRC)): $(BUILD)/suites.h
$(BUILD)/obj/checks/unit/%.o: INC_checks += -I$(BUILD)

# Unit tests see every folder's headers; the tools' objects come without main().
$(BUILD)/unit: $(call obj,$(UNIT_SRC) $(CHECK_SRC)) $(LIBMX)
	$(CC) $(LDFLAGS) -o $@ $^ $(STATIC) -lcheck -lsubunit $(CMD_LIBS) -lrt

.PHONY: test-fast test test-all test-cli mutants bench fuzz
test-fast: $(BUILD)/unit
	$(BUILD)/unit

test-cli: all
	BUILD=$(BUILD) checks/cli/run.sh

test: setup-test
	+$(MAKE) -j$(JOBS) --no-print-directory all $(BUILD)/unit
	+$(MAKE) --no-print-directory test-fast
	+$(MAKE) --no-print-directory test-cli
	+$(MAKE) --no-print-directory mutants

test-all: setup-test
	+$(MAKE) --no-print-directory test $(BUILD)/unit
	$(BUILD)/unit all

.PHONY: demo
demo: setup-build
	+$(MAKE) -j$(JOBS) --no-print-directory all
	$(BUILD)/mxcheck kernel --vectors vectors/

.PHONY: asan ubsan
asan: setup-test
	+ASAN_OPTIONS=detect_leaks=1 $(MAKE) -j$(JOBS) --no-print-directory BUILD=$(BUILD)/asan OPT=-O1 \
	  EXTRA_CFLAGS='-fsanitize=address -fno-omit-frame-pointer' EXTRA_LDFLAGS=-fsanitize=address test-fast
ubsan: setup-test
	+UBSAN_OPTIONS=print_stacktrace=1 $(MAKE) -j$(JOBS) --no-print-directory BUILD=$(BUILD)/ubsan OPT=-O1 \
	  EXTRA_CFLAGS='-fsanitize=undefined -fno-sanitize-recover=all' EXTRA_LDFLAGS=-fsanitize=undefined test-fast

# ---- set-up: installs what is missing, and nothing when nothing is ---------------------------------------
.PHONY: setup-build setup-test setup-lint setup-fuzz
setup-build setup-test setup-lint setup-fuzz: setup-%:
	@tools/setup.sh $*

# ---- style ------------------------------------------------------------------------------------------------
STYLED := $(shell git ls-files '*.c' '*.h' '*.cu' '*.cuh' 2>/dev/null)
PUBLIC := lib/mx.h lib/mx_kernel.h

.PHONY: lint format
format:
	clang-format -i $(STYLED)
# cppcheck's preprocessor gives up on nested macros that the compilers take: such a file is left to them.
lint: setup-lint
	clang-format --dry-run -Werror $(STYLED)
	cppcheck --quiet --error-exitcode=1 --std=c11 --inline-suppr --enable=warning,portability \
	  --suppress=missingIncludeSystem --suppress=checkersReport --suppress=preprocessorErrorDirective -D"json_array_foreach(a,i,v)=for(;;)" -Ilib -Iemu -Ichecks -Itools \
	  -j 2 lib emu tools checks/*.c
	for h in $(PUBLIC); do \
	  $(CC) -std=c11 -Wall -Wextra -pedantic -Werror -fsyntax-only -x c $$h && \
	  $(CXX) -std=c++17 -Wall -Wextra -pedantic -Werror -fsyntax-only -x c++ $$h || exit 1; done
	shellcheck $$(git ls-files '*.sh') .ci/run

# ---- installation -----------------------------------------------------------------------------------------
DEST := $(DESTDIR)$(PREFIX)
.PHONY: install uninstall clean help
install: all
	install -d $(DEST)/bin $(DEST)/include $(DEST)/lib/pkgconfig $(DEST)/lib/mxcheck $(DEST)/share/man/man1 \
	  $(DEST)/share/bash-completion/completions $(DEST)/share/doc/mxcheck
	install -m 755 $(BUILD)/mxcheck $(DEST)/bin/mxcheck
	install -m 644 $(LIBMX) $(DEST)/lib/libmxcheck.a
	install -m 644 $(PUBLIC) $(DEST)/include
	$(if $(PLUGINS),install -m 755 $(PLUGINS) $(DEST)/lib/mxcheck)
	sed -e 's|@PREFIX@|$(PREFIX)|' -e 's|@VERSION@|$(VERSION)|' tools/mxcheck.pc.in > $(DEST)/lib/pkgconfig/mxcheck.pc
	install -m 644 tools/mxcheck.1 $(DEST)/share/man/man1/mxcheck.1
	install -m 644 tools/completion.bash $(DEST)/share/bash-completion/completions/mxcheck
	install -m 644 LICENSE tools/licenses/GPL-3.0.txt README.md $(DEST)/share/doc/mxcheck
uninstall:
	rm -f $(DEST)/bin/mxcheck $(DEST)/lib/libmxcheck.a $(addprefix $(DEST)/include/,$(notdir $(PUBLIC))) \
	  $(DEST)/lib/pkgconfig/mxcheck.pc $(DEST)/share/man/man1/mxcheck.1 \
	  $(DEST)/share/bash-completion/completions/mxcheck
	rm -rf $(DEST)/lib/mxcheck $(DEST)/share/doc/mxcheck

clean:
	rm -rf $(BUILD)

help:
	@echo 'demo       install what is missing, build, judge the bundled kernels'
	@echo 'test       install what is missing, build, run the tests; test-all: the exhaustive ones too'
	@echo 'all        the command, the library and the plug-ins; install, uninstall PREFIX=/usr/local'
	@echo 'mutants    kernels with one planted fault each: every one must be caught'
	@echo 'asan ubsan fuzz   the tests under sanitizers; fuzzing of the readers'
	@echo 'bench      speed of the CPU paths against memcpy; lint, format, clean'
	@echo 'gpu-report registers, spills and SASS facts of the CUDA kernels'

-include $(shell find $(BUILD) -name '*.d' 2>/dev/null)
