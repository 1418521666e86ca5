# SPDX-License-Identifier: Apache-2.0
# mxcheck-mpi.so: built where mpicc is found. Without it everything but `mpirun mxcheck ...` works.
MPICC ?= $(shell command -v mpicc 2>/dev/null)
ifneq ($(MPICC),)
PLUGINS += $(BUILD)/mxcheck-mpi.so
$(BUILD)/mxcheck-mpi.so: tools/mpi/plugin.c tools/parallel.h lib/mx.h
	@mkdir -p $(@D)
	$(MPICC) -std=c11 -O2 -fPIC -shared $(WARN) -Ilib -Itools -o $@ $<
endif
