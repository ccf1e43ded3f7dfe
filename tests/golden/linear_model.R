# Reference numbers of the absorbed linear probability model and its companions.
# Reads balanced_grid.csv and observed_trials.csv, writes linear_model.json; run it here:
#   Rscript linear_model.R
# (R 4.2.2, sandwich 3.0-2, clubSandwich 0.5.8, car 3.1-1, lme4 1.1-31, jsonlite 1.8.4)
# effects.json beside it holds numbers of the same functions: lm, anova(lm), sandwich::vcovHC and
# vcovCL, stats::mantelhaen.test, prop.test, prop.trend.test, fisher.test, t.test, p.adjust.
suppressPackageStartupMessages({library(sandwich); library(clubSandwich); library(car); library(lme4); library(jsonlite)})

trials <- read.csv("observed_trials.csv")
factors <- c("b", "node", "hour", "conc")
for (f in factors) trials[[f]] <- factor(trials[[f]])
trials$stratum <- factor(paste(trials$t, trials$m))

effects <- function(d) {
  d$stratum <- droplevels(d$stratum)
  m <- lm(y ~ b + node + hour + conc + stratum, d)
  i <- which(!grepl("stratum|Intercept", names(coef(m))))
  se <- function(v) as.list(sqrt(diag(as.matrix(v)))[i])
  cr2 <- function(cluster) {
    v <- vcovCR(m, cluster = cluster, type = "CR2")
    list(se = se(v), df = as.list(setNames(coef_test(m, v, test = "Satterthwaite")$df[i], names(coef(m))[i])))
  }
  g <- vif(m)
  list(N = nrow(d), K = length(coef(m)), est = as.list(coef(m)[i]),
       hc2 = se(vcovHC(m, type = "HC2")),
       cr1_task = se(vcovCL(m, cluster = ~t, type = "HC1")),
       cr0_wave = se(vcovCL(m, cluster = ~batch, type = "HC0", cadjust = FALSE)),
       cr2_task = cr2(d$t), cr2_wave = cr2(d$batch),
       two_way = as.list(diag(vcovCL(m, cluster = ~t + batch, type = "HC1"))[i]),
       gvif = as.list(g[factors, 3]))
}

# Two trials in five, and strata where no factor varies (singletons among them) dropped.
ragged <- trials[(trials$t * 7 + trials$m * 3 + as.integer(trials$b) * 5 + trials$batch * 11) %% 10 < 4 &
                 (trials$t %% 3 > 0 | trials$batch < 9), ]
varies <- ave(as.integer(interaction(ragged[factors], drop = TRUE)), ragged$stratum, FUN = function(x) length(unique(x))) > 1

# Interval of a variance component: noncentral chi-square, inverted.
phi_interval <- function(m, term) {
  i <- grepl(paste0("^", term, "[0-9]"), names(coef(m)))
  b <- coef(m)[i]; V <- vcovHC(m, type = "HC2")[i, i]; L <- length(b) + 1
  S <- diag(L - 1) / L - 1 / L^2
  SV <- S %*% V; trace <- sum(diag(SV)); square <- sum(diag(SV %*% SV)); Q <- c(t(b) %*% S %*% b)
  lambda <- square / trace; nu <- trace^2 / square
  bound <- function(p) {
    if (pchisq(Q / lambda, nu) <= p) return(0)
    uniroot(function(k) pchisq(Q / lambda, nu, ncp = k) - p, c(0, 500), tol = 1e-12)$root * lambda
  }
  list(phi = Q - trace, lo = bound(.975), hi = bound(.025), p = 1 - pchisq(Q / lambda, nu))
}

grid <- read.csv("balanced_grid.csv")
floor <- grid[grid$b == 0, ]
long <- floor[rep(seq_len(nrow(floor)), floor$n), ]
long$y <- unlist(Map(function(s, n) rep(c(1, 0), c(s, n - s)), floor$s, floor$n))
reml <- as.data.frame(VarCorr(lmer(y ~ 1 + (1 | t) + (1 | m) + (1 | t:m), long,
                                   control = lmerControl(optCtrl = list(xtol_abs = 1e-12, ftol_abs = 1e-14)))))

tables <- array(0, c(2, 2, 120)); k <- 0
for (t in 0:39) for (m in 0:2) {
  k <- k + 1; x <- grid[grid$t == t & grid$m == m & grid$b %in% c(0, 5), ]; x <- x[order(-x$b), ]
  tables[, , k] <- cbind(x$s, x$n - x$s)
}
full <- lm(y ~ b + node + hour + conc + stratum, trials)
write_json(list(
  all = effects(trials), ragged = effects(ragged[varies, ]), ragged_rows = nrow(ragged),
  phi = setNames(lapply(factors, function(f) phi_interval(full, f)), factors),
  reml = setNames(as.list(reml$vcov), reml$grp),
  exact = mantelhaen.test(tables, exact = TRUE)$p.value
), "linear_model.json", auto_unbox = TRUE, digits = 13, pretty = TRUE)
