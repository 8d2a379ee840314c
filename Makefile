# The commands that people type; the build itself is meson's (meson.build).
#
#   make                  build/tare, usable from there
#   make demo             installs what is missing, builds, records a real program, prints its report
#   make check            installs what is missing, builds, runs all tests
#   make install          into PREFIX (/usr/local), under DESTDIR
#   make uninstall
#
# CC=clang make works: the build directory is set up anew when CC changes.

BUILD ?= build
PREFIX ?= /usr/local
DESTDIR ?=
CC ?= cc

.PHONY: all build setup check demo install uninstall clean

all: build

build:
	@CC="$(CC)" PREFIX="$(PREFIX)" tools/build "$(BUILD)"

check:
	@tools/setup build test
	@CC="$(CC)" PREFIX="$(PREFIX)" tools/build "$(BUILD)"
	@tests/run --build "$(BUILD)"

demo:
	@tools/setup build demo
	@CC="$(CC)" PREFIX="$(PREFIX)" tools/build "$(BUILD)"
	@tools/demo "$(BUILD)"

install: build
	@DESTDIR="$(DESTDIR)" meson install -C "$(BUILD)" --no-rebuild

uninstall:
	@ninja -C "$(BUILD)" uninstall

clean:
	@rm -rf "$(BUILD)"
