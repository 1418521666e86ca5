# The CUDA kernels and the plug-in that offers them: build/mxcheck-gpu.so. Without nvcc nothing here builds.

# Machine code for Hopper. The files named in GPU_PTX use no instruction of one architecture alone and carry
# PTX as well, from which the driver of a newer device compiles at load. A file for another architecture says
# so in a target-specific GPU_ARCH.
GPU_ARCH ?= -gencode=arch=compute_90a,code=sm_90a
GPU_PTX  := plugin timer dequantize quantize_e4m3 quantize_e5m2 quantize_fp4 quantize_plain swiglu
NVCCFLAGS := -std=c++17 -O3 -lineinfo -Werror all-warnings -Xcompiler -fPIC,-Wall,-fvisibility=hidden,-ffp-contract=off \
             -DMX_VERSION='"$(VERSION)"'
GPU_SRC  := $(wildcard gpu/*.cu)
GPU_OBJ  := $(patsubst gpu/%.cu,$(BUILD)/obj/gpu/%.o,$(GPU_SRC))
GPU_LIB  := $(BUILD)/mxcheck-gpu.so

ifneq ($(NVCC),)
PLUGINS += $(GPU_LIB)
endif

$(patsubst %,$(BUILD)/obj/gpu/%.o,$(GPU_PTX)): GPU_ARCH += -gencode=arch=compute_90,code=compute_90

$(BUILD)/obj/gpu/tcgen05_gemm.o: GPU_ARCH := -gencode=arch=compute_100a,code=sm_100a

$(BUILD)/obj/gpu/%.o: gpu/%.cu
	@mkdir -p $(@D)
	$(NVCC) $(NVCCFLAGS) $(GPU_ARCH) -Ilib -Igpu -MMD -MP -MF $(@:.o=.d) -c $< -o $@

# cudart inside, so that a GPU node needs the driver alone.
$(GPU_LIB): $(GPU_OBJ)
	$(NVCC) -shared -cudart static $(GPU_ARCH) -Xcompiler -static-libstdc++,-static-libgcc -o $@ $^ -ldl

# The author's own check and speed test of the quantisers; needs a device.
$(BUILD)/gpu-selftest: gpu/selftest/selftest.cu gpu/selftest/reference.h gpu/ops.h gpu/silu.cuh
	@mkdir -p $(@D)
	$(NVCC) -std=c++17 -O3 -Xcompiler -fopenmp,-ffp-contract=off -DMX_VERSION='"$(VERSION)"' $(GPU_ARCH) -cudart static -Ilib -o $@ $< -ldl -lgomp

# Registers, spills and what became of the source, from the machine code.
.PHONY: gpu-report
gpu-report: $(GPU_OBJ)
	@NVCC=$(NVCC) sh gpu/report.sh $(filter-out %/plugin.o,$(GPU_OBJ))

-include $(GPU_OBJ:.o=.d)
