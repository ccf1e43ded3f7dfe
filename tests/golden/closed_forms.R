# Reference numbers of sample sizes, sequences, looks and credible gaps.
# Writes closed_forms.json to the current folder; run it here:
#   Rscript closed_forms.R           (R 4.2.2, mvtnorm 1.1-3, jsonlite 1.8.4)
suppressPackageStartupMessages({library(mvtnorm); library(jsonlite)})
set.seed(1)

mde <- function(T, K, w, M = 1, tau2 = 0, alpha = .05, power = .8)
  (qnorm(1 - alpha / 2) + qnorm(power)) * sqrt(2 * w / (T * M * K) + tau2 / T)
z_power <- function(d, T, K, w) {
  z <- d / sqrt(2 * w / (T * K)); pnorm(z - qnorm(.975)) + pnorm(-z - qnorm(.975))
}
tost_K <- function(delta, d, T, w, alpha = .05, power = .9) {
  of <- function(K) {
    se <- sqrt(2 * w / (T * K))
    pnorm((delta - d) / se - qnorm(1 - alpha)) + pnorm((delta + d) / se - qnorm(1 - alpha)) - 1 - power
  }
  uniroot(of, c(1, 1e5), tol = 1e-10)$root
}
rho2 <- function(t, alpha = .05) (-2 * log(alpha) + log(-2 * log(alpha) + 1)) / t
half <- function(t, sigma, r, alpha = .05)
  sigma * sqrt(2 * (t * r + 1) / (t^2 * r) * log(sqrt(t * r + 1) / alpha))
obf <- function(K, alpha = .05, at = seq_len(K) / K) {
  R <- outer(at, at, function(a, b) sqrt(pmin(a, b) / pmax(a, b)))
  inside <- function(C) pmvnorm(-C / sqrt(at), C / sqrt(at), corr = R, algorithm = Miwa(steps = 1024))
  uniroot(function(C) inside(C) - (1 - alpha), c(1.9, 3), tol = 1e-8)$root
}
imbens_manski <- function(lo, hi, se_lo, se_hi, level = .95) {
  C <- uniroot(function(c) pnorm(c + (hi - lo) / max(se_lo, se_hi)) - pnorm(-c) - level, c(0, 3), tol = 1e-13)$root
  list(C = C, lo = lo - C * se_lo, hi = hi + C * se_hi)
}
wave_power <- function(effect, per_level, sd, levels)
  power.t.test(per_level, effect, sd, strict = TRUE)$power

write_json(list(
  two_proportions = list(a = power.prop.test(p1 = .058, p2 = .021, power = .8, tol = 1e-12)$n,
                         b = power.prop.test(p1 = .42, p2 = .48, power = .9, sig.level = .01, tol = 1e-12)$n),
  mde = list(K = sapply(c(5, 10, 20, 40), function(K) mde(89, K, .095)),
             new_tasks = mde(89, 10, .095, M = 4, tau2 = .0072),
             strict = mde(40, 5, .11, M = 3, alpha = .01, power = .9)),
  power = list(a = z_power(.02, 89, 20, .095), b = z_power(.002, 89, 5, .095)),
  tost = list(a = tost_K(.03, .01, 89, .095), b = tost_K(.03, 0, 89, .095), c = tost_K(.02, .005, 89, .095),
              closed_a = 2 * .095 * (qnorm(.95) + qnorm(.9))^2 / (89 * .02^2)),
  sequence = list(rho2 = rho2(8), half = sapply(c(3, 8, 20), half, sigma = .05, r = rho2(8)),
                  rho2_20 = rho2(20, .01), half_20 = half(12, .03, rho2(20, .01), .01)),
  obf = list(K2 = obf(2), K3 = obf(3), K4 = obf(4), K5 = obf(5), K3_01 = obf(3, .01),
             uneven = obf(3, at = c(.2, .5, 1))),
  # Jennison & Turnbull (2000), table 2.3, two-sided alpha .05, to the printed digits
  obf_print = list("2" = 1.977, "3" = 2.004, "4" = 2.024, "5" = 2.040, "6" = 2.053, "7" = 2.063,
                   "8" = 2.072, "9" = 2.080, "10" = 2.087),
  imbens_manski = list(wide = imbens_manski(.40, .45, .02, .02), narrow = imbens_manski(.40, .401, .02, .015),
                       level = imbens_manski(-.01, .02, .012, .018, .9)),
  gap = list(matched = qnorm(.975) * 1.83, exchangeable = qnorm(.975) * sqrt(1.83^2 + 2 * .72^2),
             worst = 1.95 + qnorm(.95) * 1.83),
  wave_power = wave_power(.03, 5, .02, 2)
), "closed_forms.json", auto_unbox = TRUE, digits = 13, pretty = TRUE)
