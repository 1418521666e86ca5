# mxcheck - see README.md. `make help` lists the targets.

CC       ?= cc
CXX      ?= c++
PYTHON   ?= python3
PREFIX   ?= /usr/local
DESTDIR  ?=
BUILD    ?= build
VERSION  := 0.1.0
NVCC     ?= $(firstword $(shell command -v nvcc 2>/dev/null) $(wildcard /usr/local/cuda/bin/nvcc))

# -ffp-contract=off: an FMA where the source has none changes bits. -Ofast and -ffast-math are banned.
WARN     := -Wall -Wextra -Werror -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wpointer-arith -Wvla
OPT      ?= -O3
CFLAGS   := -std=c11 -g $(OPT) $(WARN) -ffp-contract=off -fno-math-errno -fopenmp -D_GNU_SOURCE \
            -DMX_VERSION='"$(VERSION)"' $(EXTRA_CFLAGS)
LDFLAGS  += -fopenmp $(EXTRA_LDFLAGS)

# Only libc (with libm, libdl, libpthread) stays dynamic, so that the binary runs on a bare GPU node.
STATIC   := -Wl,-Bstatic
DYNAMIC  := -Wl,-Bdynamic
LIB_LIBS := $(STATIC) -lmpfr -lgmp -ljansson -lmd $(DYNAMIC) -lm
CMD_LIBS := $(STATIC) -lgsl -lgslcblas $(LIB_LIBS) -ldl -lpthread

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

.PHONY: test-fast test test-all
test-fast: $(BUILD)/unit
	$(BUILD)/unit
