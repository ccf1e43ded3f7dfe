# Reference numbers of the mixed model and of the stratified randomisation test.
# Writes mixed_balanced.csv, mixed_ragged.csv and mixed_model.json to the current folder; run it here:
#   Rscript mixed_model.R            (R 4.2.2, lme4 1.1-31, jsonlite 1.8.4)
suppressPackageStartupMessages({library(lme4); library(jsonlite)})
set.seed(20260205)

simulate <- function(tasks, entries, bands, sizes) {
  d <- expand.grid(band = seq_len(bands) - 1, entry = seq_len(entries) - 1, task = seq_len(tasks) - 1)
  logit <- rnorm(tasks, -0.3, 1.8)[d$task + 1] + c(0, 0.5, -0.4)[d$entry + 1] +
    c(0, 0.15, 0.6, 0.3)[d$band + 1] + rnorm(tasks * entries, 0, 0.7)[d$task * entries + d$entry + 1]
  d$n <- sizes(nrow(d))
  d$passed <- rbinom(nrow(d), d$n, plogis(logit))
  d[d$n > 0, c("task", "entry", "band", "n", "passed")]
}

fitted_by <- function(d, formula) {
  d$band <- factor(d$band); d$entry <- factor(d$entry); d$stratum <- interaction(d$task, d$entry)
  f <- glmer(formula, d, family = binomial, nAGQ = 25,
             control = glmerControl(optimizer = "bobyqa", optCtrl = list(rhoend = 1e-9)))
  beta <- fixef(f); sd <- as.data.frame(VarCorr(f))$sdcor
  mean_rate <- function(o) integrate(function(u) plogis(o + sd * u) * dnorm(u), -9, 9, rel.tol = 1e-12)$value
  square <- function(o) integrate(function(u) plogis(o + sd * u)^2 * dnorm(u), -9, 9, rel.tol = 1e-12)$value
  entry_terms <- c(0, beta[grepl("^entry", names(beta))])
  pa <- sapply(levels(d$band), function(b) {
    term <- if (paste0("band", b) %in% names(beta)) beta[paste0("band", b)] else 0
    mean(sapply(entry_terms, function(e) mean_rate(beta[1] + term + e)))
  })
  mu <- mean_rate(beta[1])
  list(fixed = as.list(beta), se = as.list(sqrt(diag(as.matrix(vcov(f))))), sd = sd,
       pa_means = as.list(setNames(pa, levels(d$band))),
       icc_latent = sd^2 / (sd^2 + pi^2 / 3),
       icc_data = (square(beta[1]) - mu^2) / (mu * (1 - mu)))
}

# Exact two-sided p of |sum of passes - mean| within strata, by convolution of hypergeometrics.
randomised <- function(d, a, b) {
  x <- merge(d[d$band == a, ], d[d$band == b, ], by = c("task", "entry"))
  mass <- 1
  for (i in seq_len(nrow(x))) {
    k <- 0:x$n.x[i]
    h <- dhyper(k, x$passed.x[i] + x$passed.y[i],
                x$n.x[i] + x$n.y[i] - x$passed.x[i] - x$passed.y[i], x$n.x[i])
    new <- rep(0, length(mass) + x$n.x[i])
    for (j in k) new[seq_along(mass) + j] <- new[seq_along(mass) + j] + mass * h[j + 1]
    mass <- new
  }
  mean <- sum((x$passed.x + x$passed.y) * x$n.x / (x$n.x + x$n.y))
  sum(mass[abs(seq_along(mass) - 1 - mean) >= abs(sum(x$passed.x) - mean) - 1e-9])
}

# The same by 400,000 draws, for the contrast averaged over entries, then over tasks.
drawn <- function(d, a, b, draws = 400000) {
  x <- merge(d[d$band == a, ], d[d$band == b, ], by = c("task", "entry"))
  w <- 1 / ave(x$n.x, x$task, FUN = length) / length(unique(x$task))
  observed <- sum(w * (x$passed.x / x$n.x - x$passed.y / x$n.y))
  stat <- numeric(draws)
  for (i in seq_len(nrow(x))) {
    s <- x$passed.x[i] + x$passed.y[i]
    k <- rhyper(draws, s, x$n.x[i] + x$n.y[i] - s, x$n.x[i])
    stat <- stat + w[i] * (k / x$n.x[i] - (s - k) / x$n.y[i])
  }
  (1 + sum(abs(stat) >= abs(observed) - 1e-12)) / (draws + 1)
}

balanced <- simulate(30, 3, 4, function(k) rep(4, k))
ragged <- simulate(24, 3, 4, function(k) sample(c(0, 1, 2, 3, 5, 8), k, TRUE))
write.csv(balanced, "mixed_balanced.csv", row.names = FALSE)
write.csv(ragged, "mixed_ragged.csv", row.names = FALSE)
both <- cbind(passed, n - passed) ~ band + entry + (1 | task)
strata <- cbind(passed, n - passed) ~ band + (1 | stratum)
write_json(list(
  balanced = list(task = fitted_by(balanced, both), stratum = fitted_by(balanced, strata),
                  permutation_p = list("1" = randomised(balanced, 1, 0), "2" = randomised(balanced, 2, 0),
                                       "3" = randomised(balanced, 3, 0))),
  ragged = list(task = fitted_by(ragged, both), stratum = fitted_by(ragged, strata),
                permutation_p = list("2" = drawn(ragged, 2, 0)))
), "mixed_model.json", auto_unbox = TRUE, digits = 12, pretty = TRUE)
