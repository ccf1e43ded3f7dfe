# Reference numbers of conditional logistic regression.
# Reads balanced_grid.csv and observed_trials.csv, writes conditional_logit.json; run it here:
#   Rscript conditional_logit.R      (R 4.2.2, survival 3.5-3, jsonlite 1.8.4)
suppressPackageStartupMessages({library(survival); library(jsonlite)})
fit <- function(d) {
  f <- clogit(y ~ b + strata(stratum), d, method = "exact")
  named <- function(x) as.list(setNames(x, sub("^b", "", names(coef(f)))))
  list(log_odds = named(coef(f)), se = named(sqrt(diag(vcov(f)))),
       p = unname(summary(f)$logtest["pvalue"]))
}
grid <- read.csv("balanced_grid.csv")
long <- grid[rep(seq_len(nrow(grid)), grid$n), ]
long$y <- unlist(Map(function(s, n) rep(c(1, 0), c(s, n - s)), grid$s, grid$n))
trials <- read.csv("observed_trials.csv")
prepared <- function(d) { d$b <- factor(d$b); d$stratum <- interaction(d$t, d$m, drop = TRUE); d }
write_json(list(
  pair = fit(prepared(long[long$b %in% c(0, 5), ])), grid = fit(prepared(long)),
  ragged = fit(prepared(trials[trials$t < 20, ]))
), "conditional_logit.json", auto_unbox = TRUE, digits = 13, pretty = TRUE)
