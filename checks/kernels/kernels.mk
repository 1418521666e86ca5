# The bundled kernels, judged by `mxcheck kernel` like anybody's.

# Objects of the library also go into a shared library.
$(BUILD)/obj/lib/%.o: CFLAGS += -fPIC
$(BUILD)/obj/emu/%.o: CFLAGS += -fPIC

CPU_KERNEL    := $(BUILD)/mxcheck-cpu.so
NVIDIA_KERNEL := $(BUILD)/mxcheck-nvidia.so
# NVIDIA's headers convert on the host as well: the plug-in needs no nvcc and no device.
CUDA_INCLUDE  ?= $(firstword $(dir $(wildcard /usr/local/cuda/include/cuda_fp4.h /usr/include/cuda_fp4.h)))

PLUGINS += $(CPU_KERNEL)
ifneq ($(CUDA_INCLUDE),)
PLUGINS += $(NVIDIA_KERNEL)
endif

$(BUILD)/obj/checks/kernels/%.o: checks/kernels/%.c
	@mkdir -p $(@D)
	$(CC) $(CFLAGS) -fPIC -fvisibility=hidden -Ilib -Iemu -MMD -MP -c $< -o $@

$(CPU_KERNEL): $(BUILD)/obj/checks/kernels/cpu.o $(LIBMX)
	$(CC) $(LDFLAGS) -shared -Wl,-Bsymbolic -Wl,--exclude-libs,ALL -static-libgcc -o $@ $^ $(LIB_LIBS) -lgomp

$(BUILD)/obj/checks/kernels/nvidia.o: checks/kernels/nvidia.cpp
	@mkdir -p $(@D)
	$(CXX) -std=c++17 -g -O2 -Wall -Wextra -Werror -fPIC -fvisibility=hidden -ffp-contract=off \
	    -DMX_VERSION='"$(VERSION)"' -Ilib -isystem $(CUDA_INCLUDE) -MMD -MP -c $< -o $@

$(NVIDIA_KERNEL): $(BUILD)/obj/checks/kernels/nvidia.o
	$(CXX) $(EXTRA_LDFLAGS) -shared -static-libstdc++ -static-libgcc -o $@ $^ -lm

-include $(wildcard $(BUILD)/obj/checks/kernels/*.d)
