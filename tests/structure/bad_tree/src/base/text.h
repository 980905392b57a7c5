#include <stddef.h> // TODO
