"""Faults of rules that are written in Python, which cannot raise where the engine calls them.

The methods of a game are called without the interpreter's lock and return no errors. So an
exception in rules in Python is kept, by thread, and raised as soon as the engine is back in Python.
Until then the game says that the match is over, so that all loops over its decisions end.
"""

from cpython.object cimport PyObject

from engine.errors import RulesFault

cdef extern from *:
    """
    typedef struct {
        PyObject *error;           /* NULL: no fault. */
        PyObject *game_id;
        const char *method;
    } Fault;

    static _Thread_local Fault fault_here;

    static int keep_error(PyObject *game_id, const char *method) {
        PyObject *error;
    #if PY_VERSION_HEX >= 0x030C0000
        error = PyErr_GetRaisedException();
    #else
        PyObject *type, *traceback;
        PyErr_Fetch(&type, &error, &traceback);
        if (type != NULL) {
            PyErr_NormalizeException(&type, &error, &traceback);
            if (traceback != NULL)
                PyException_SetTraceback(error, traceback);
        }
        Py_XDECREF(type);
        Py_XDECREF(traceback);
    #endif
        if (error == NULL)
            return 0;
        if (fault_here.error != NULL) {
            Py_DECREF(error);
            return 0;
        }
        Py_INCREF(game_id);
        fault_here.error = error;
        fault_here.game_id = game_id;
        fault_here.method = method;
        return 1;
    }

    static PyObject *take_error(void) {
        PyObject *taken = Py_BuildValue(
            "NNs", fault_here.game_id, fault_here.error, fault_here.method);
        fault_here.error = NULL;
        return taken;
    }
    """
    ctypedef struct Fault:
        PyObject* error
    Fault fault_here
    bint keep_error(str game_id, const char* method) noexcept
    object take_error()


cdef bint failed_here() noexcept nogil:
    return fault_here.error != NULL


cdef void keep_raised(str game_id, const char* method) noexcept:
    global pending
    pending += keep_error(game_id, method)


cdef int raise_pending() except -1:
    global pending
    if not failed_here():
        return 0
    pending -= 1
    game_id, error, method = take_error()
    if isinstance(error, KeyboardInterrupt):
        raise error            # The operator's. SystemExit would end a server, and is a fault.
    raise fault_of(game_id, method, error) from error


def fault_of(game_id, method, error):
    """The RulesFault for an exception that the rules of a game raised in a method."""
    return RulesFault(f"the rules of {game_id} failed in {method}: {type(error).__name__}: {error}")
