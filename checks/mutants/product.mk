# The product kernel, with one planted fault each.

PRODUCT_NAMES := control_product $(shell awk -F'[^a-z0-9_]+' '/^ +X/ {print $$2}' checks/mutants/product_mutants.h)
PRODUCT_LIBS  := $(patsubst %,$(BUILD)/mutants/%.so,$(PRODUCT_NAMES))
MUTANT_LIBS   += $(PRODUCT_LIBS)

$(PRODUCT_LIBS): $(BUILD)/mutants/%.so: checks/mutants/product.c checks/mutants/product_mutants.h lib/mx_kernel.h
	@mkdir -p $(@D)
	$(CC) -std=c11 -g -O1 $(WARN) -ffp-contract=off -D_GNU_SOURCE -DMUTANT=$* -fPIC -fvisibility=hidden -Ilib \
	    -shared -o $@ $< -lm

mutants: $(PRODUCT_LIBS)
$(BUILD)/unit: | $(BUILD)/mutants/control_product.so
