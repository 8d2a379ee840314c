/* capture.h - the one function that a walker supplies */
#ifndef CAPTURE_H
#define CAPTURE_H

/**
 * capture - return addresses of the calling thread's stack, innermost first
 * @pc:  room for @max addresses
 *
 * Addresses inside capture() itself may come first. Each case calls it once from main() before anything happens, so that it
 * can set itself up; after that it is called anywhere, in signal handlers too.
 *
 * Return: addresses written.
 */
int capture(void **pc, int max);

#endif
