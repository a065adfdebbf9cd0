"""Regret matching at the nodes of a search tree, with the mean scores as a baseline.

Each visit adds to every action its estimated regret, the next choice is in proportion to the
positive regrets, and the average of these choices is the answer. The estimated score of an action
that was not tried is its mean so far, which is also the baseline that reduces the variance of the
importance-weighted estimate of the action that was tried.

    V. Lisý, V. Kovařík, M. Lanctot, B. Bošanský, "Convergence of Monte Carlo Tree Search in
    Simultaneous Move Games", NeurIPS 2013: regret matching at the nodes of a search tree.
    M. Schmid et al., "Variance Reduction in Monte Carlo Counterfactual Regret Minimization
    (VR-MCCFR)", AAAI 2019: the baseline.
"""

from ai.search_tree cimport Child, Figures, Node

# In units of the largest jump of an estimate. The estimate of an action that is rarely tried comes
# in jumps of 1 / its probability. A regret a few jumps below 0 is enough to leave the action alone.
# Further down, it takes too long to unlearn what was true only of the play of the first visits.
cdef double MIN_REGRET = -3


cdef void begin_regrets(const Node* node, const Child* children, Figures* figures) noexcept nogil:
    cdef int i
    for i in range(node.count):
        if children[i].visits:
            figures[i].regret = children[i].availability * (
                figures[i].total / children[i].visits - node.total / node.visits)


cdef void choose_by_regret(Mixture* mixture, Child* children, Figures* figures,
                           double threshold) noexcept nogil:
    cdef double* sigma = mixture.sigma
    cdef double positive = 0, probability, uniform = 1.0 / mixture.count
    cdef int i, number
    for i in range(mixture.count):
        number = mixture.available[i]
        children[number].availability += 1
        sigma[i] = max(0.0, figures[number].regret)
        positive += sigma[i]
    for i in range(mixture.count):
        sigma[i] = sigma[i] / positive if positive > 0 else uniform
        figures[mixture.available[i]].strategy += sigma[i]
        if threshold >= 0:
            probability = (1 - mixture.share) * sigma[i] + mixture.share * uniform
            threshold -= probability
            if threshold < 0 or i == mixture.count - 1:
                mixture.place = i
                mixture.probability = probability


cdef void update_regrets(const Mixture* mixture, const Node* node, const Child* children,
                         Figures* figures, double score) noexcept nogil:
    cdef double prior = node.total / node.visits if node.visits else 0.5
    cdef double lowest = MIN_REGRET * mixture.count / mixture.share
    cdef double mean = 0
    cdef int i
    for i in range(mixture.count):
        mean += mixture.sigma[i] * estimate(mixture, children, figures, i, prior, score)
    for i in range(mixture.count):
        figures[mixture.available[i]].regret = max(
            lowest, figures[mixture.available[i]].regret
            + estimate(mixture, children, figures, i, prior, score) - mean)


cdef inline double estimate(const Mixture* mixture, const Child* children, const Figures* figures,
                            int i, double prior, double score) noexcept nogil:
    # Of the score of an available action.
    cdef int number = mixture.available[i]
    cdef double mean = figures[number].total / children[number].visits if (
        children[number].visits) else prior
    if i == <int> mixture.place:
        mean += (score - mean) / mixture.probability
    return mean
