"""The guard through which every call into a package's Python code goes, and faults of that code.

What the code raises ends the call, and what does not return is interrupted (`limit`). The methods
of a game are called without the interpreter's lock and return no errors. So an exception in rules
in Python is kept, by thread, and raised as soon as the engine is back in Python. Until then the
game says that the match is over, so that all loops over its decisions end.
"""

import inspect
import os
import signal
import threading
import types

from cpython.object cimport PyObject

from engine.errors import GameError, Overtime, RulesFault

cdef enum:
    MOST_CHARACTERS = 1000  # Of what an error says.

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

    /* The calls under way, by thread: the outermost ones. The interpreter's lock guards them, and a
       thread that begins or ends a call has it, so that an interruption cannot come after the end
       of its call. */
    #include <pthread.h>
    #include <signal.h>
    #include <time.h>

    typedef struct Call {
        int depth;                 /* Calls within calls. */
        int ticks;                 /* How often the watch has seen it. */
        int late;                  /* Whether it was interrupted, and may have to be again. */
        double used;               /* Processor seconds of its thread at the first tick. */
        unsigned long thread;
        struct Call *next, **link;
    } Call;

    static _Thread_local Call call_here;
    static Call *calls;

    static void begin_call_here(void) {
        Call *call = &call_here;
        if (call->depth++)
            return;
        call->ticks = call->late = 0;
        call->thread = PyThread_get_thread_ident();
        call->next = calls;
        call->link = &calls;
        if (calls != NULL)
            calls->link = &call->next;
        calls = call;
    }

    static void end_call_here(void) {
        Call *call = &call_here;
        if (--call->depth)
            return;
        *call->link = call->next;
        if (call->next != NULL)
            call->next->link = call->link;
        if (call->late)
            PyThreadState_SetAsyncExc(call->thread, NULL);
    }

    static double processor_seconds(unsigned long thread) {
        clockid_t clock = CLOCK_MONOTONIC;
        struct timespec t;
    #ifdef __linux__
        pthread_getcpuclockid((pthread_t) thread, &clock);
    #endif
        clock_gettime(clock, &t);
        return t.tv_sec + 1e-9 * t.tv_nsec;
    }

    /* Interrupts the calls that have lasted for more than so many ticks: the thread that gets
       signals, whose calls keep all others waiting, by a signal, which also ends a sleep. Searches
       may have to wait long for a processor, so calls in other threads must have used one for as
       long. */
    static void interrupt_late_calls(int ticks, double seconds, unsigned long signalled,
                                     PyObject *error) {
        for (Call *call = calls; call != NULL; call = call->next) {
            double used = 0;
            call->ticks++;
            if (call->thread == signalled) {
                if (call->ticks > ticks) {
                    call->late = 1;
                    pthread_kill((pthread_t) signalled, SIGALRM);
                }
                continue;
            }
            used = processor_seconds(call->thread);
            if (call->ticks == 1)
                call->used = used;
            if (used - call->used >= seconds) {
                call->late = 1;
                PyThreadState_SetAsyncExc(call->thread, error);
            }
        }
    }
    """
    ctypedef struct Fault:
        PyObject* error
    Fault fault_here
    bint keep_error(str game_id, const char* method) noexcept
    object take_error()
    ctypedef struct Call:
        int depth
        bint late
    Call call_here
    void begin_call_here() noexcept
    void end_call_here() noexcept
    void interrupt_late_calls(int ticks, double seconds, unsigned long signalled,
                              object error) noexcept

cdef enum:
    TICKS = 8                  # Of a limit, at which the watch looks at the calls.

cdef object PLAIN = types.FunctionType
cdef double limited = 0        # The limit in force, in seconds; 0: no call is interrupted.
cdef object changed = threading.Event()


cdef bint failed_here() noexcept nogil:
    return fault_here.error != NULL


cdef void begin_call() noexcept:
    begin_call_here()


cdef void keep_raised(str game_id, const char* method) noexcept:
    global pending
    end_call_here()
    pending += keep_error(game_id, method)


cdef int raise_pending() except -1:
    global pending
    if not failed_here():
        return 0
    pending -= 1
    game_id, error, method = take_error()
    raise_as_fault(game_id, method, error)


cdef int raise_as_fault(str game_id, str method, error) except -1:
    if isinstance(error, KeyboardInterrupt):
        raise error            # The operator's. SystemExit would end a server, and is a fault.
    why = f"the rules of {game_id} failed in {method}: {in_words(error)}"
    raise RulesFault(why, game_id, method) from error


def in_words(error):
    """The type of an error of a package and what it says, which can fail or be long."""
    begin_call_here()
    try:
        text = str(error)[:MOST_CHARACTERS]
    except BaseException as other:
        text = type(other).__name__
    end_call_here()
    return f"{type(error).__name__}: {text}"


def guarded(function, str method, game_id=None):
    """A function of a package, guarded: whatever it raises but a GameError is a RulesFault.

    Without a `game_id` its first argument is the game.
    """
    def call(*args, **kwargs):
        error = None
        begin_call_here()
        try:
            result = function(*args, **kwargs)
            if hasattr(type(result), "__next__"):
                result = list(result)  # A generator would go on outside of the guard.
        except BaseException as raised:
            error = raised
        end_call_here()
        if error is None:
            return result
        if isinstance(error, (GameError, RulesFault)):
            raise error
        raise_as_fault(game_id or args[0].id, method, error)
    return call


class Guarded:
    """An object of a package, whose attributes are read and whose methods are called guarded."""

    def __init__(self, guarded_object, str game_id):
        self._object, self._id = guarded_object, game_id

    def __getattr__(self, name):
        value = guarded(getattr, name, self._id)(self._object, name)
        return guarded(value, name, self._id) if callable(value) else value


def guard_methods(cls):
    """Guards what Python calls of the class of a game, as far as it is plain Python itself.

    That is all that every game has, `__eq__` and the like too. The methods of the contract are
    guarded where the engine calls them.
    """
    for name in dir(next(each for each in cls.__mro__ if each.__module__ == "engine.game")):
        if name == "__getattribute__":  # It says by an error what there is not.
            continue
        found = inspect.getattr_static(cls, name)
        if isinstance(found, property) and isinstance(found.fget, PLAIN):
            setattr(cls, name, found.getter(guarded(found.fget, name)))
        elif isinstance(found, staticmethod) and isinstance(found.__func__, PLAIN):
            setattr(cls, name, staticmethod(guarded(found.__func__, name)))
        elif isinstance(found, PLAIN):
            setattr(cls, name, guarded(found, name))


def limit(double seconds):
    """Interrupts calls that last for so many seconds, in this process, from now on.

    In the main thread it does so by SIGALRM, if this is called there and the signal is free, else
    by an exception that the interpreter raises in the thread.
    """
    main = threading.main_thread()
    if main is threading.current_thread() and signal.getsignal(signal.SIGALRM) == signal.SIG_DFL:
        signal.signal(signal.SIGALRM, _raise_if_late)
    global limited
    began, limited = limited, seconds
    changed.set()
    if not began:
        threading.Thread(target=_watch, name="watch", daemon=True).start()


def _raise_if_late(number, frame):
    if call_here.depth and call_here.late:
        raise Overtime


def _watch():
    # Ticks are counted, as the time in which the whole process stood still is nobody's fault.
    cdef unsigned long main = threading.main_thread().ident, signalled
    while True:
        if changed.wait(limited / TICKS):
            changed.clear()
            continue
        signalled = main if signal.getsignal(signal.SIGALRM) is _raise_if_late else 0
        interrupt_late_calls(TICKS, limited, signalled, Overtime)


def _end_if_called():
    # A package that forks would make a second server of the child.
    if call_here.depth:
        os._exit(1)


os.register_at_fork(after_in_child=_end_if_called)
