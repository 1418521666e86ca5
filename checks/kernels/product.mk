# Bundled CPU products: a plug-in that shares nothing with the emulator.

PRODUCT_KERNEL := $(BUILD)/mxcheck-product.so
PLUGINS += $(PRODUCT_KERNEL)

$(BUILD)/obj/checks/kernels/product_avx2.o: CFLAGS += -mavx2 -mfma

$(PRODUCT_KERNEL): $(BUILD)/obj/checks/kernels/product.o $(BUILD)/obj/checks/kernels/product_avx2.o
	$(CC) $(LDFLAGS) -shared -static-libgcc -o $@ $^ -lm
