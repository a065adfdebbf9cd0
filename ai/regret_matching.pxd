"""Regret matching at the nodes of a search tree."""

from libc.stdint cimport uint16_t, uint32_t

from ai.search_tree cimport Child, Figures, Node

cdef struct Mixture:           # A choice by regret matching.
    int count                  # Actions that were available:
    uint16_t* available        # the number of each among the children of the node,
    double* sigma              # and its probability by its regret.
    double share               # Of the probabilities, what is divided evenly: the exploration.
    uint32_t place             # The place of the chosen one,
    double probability         # and the probability with which it was chosen.

# Begins with what the visits by UCB1 say of the regret of each child.
cdef void begin_regrets(const Node* node, const Child* children,
                        Figures* figures) noexcept nogil
# Chooses one of the available actions. `threshold` is drawn evenly from 0 to 1.
cdef void choose_by_regret(Mixture* mixture, Child* children, Figures* figures,
                           double threshold) noexcept nogil
# Adds what a score of the chosen action says of the regrets.
cdef void update_regrets(const Mixture* mixture, const Node* node, const Child* children,
                         Figures* figures, double score) noexcept nogil
