/*
 * A process that is not the program's child and does what is left to do when the program has ended,
 * however it ended: a test driver that loses patience kills it with its whole process tree.
 */
#ifndef SUPPORT_GUARDIAN_H
#define SUPPORT_GUARDIAN_H

/* From now on clean_up is called when the program has ended, in a process without its threads and
 * descriptors. */
void guardian_start(void (*clean_up)(void));

#endif
