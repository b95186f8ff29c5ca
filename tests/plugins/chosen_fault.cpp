// The number that a plug-in with a fault is linked to.
extern const int chosen_fault;
const int chosen_fault = FAULT;
