# One mixed model of lme4 on a CSV of trials; prints one line of JSON.
#   Rscript analysis_peers.R METHOD trials.csv
arguments <- commandArgs(trailingOnly = TRUE)
suppressPackageStartupMessages(library(lme4))
d <- read.csv(arguments[2])
for (column in c("task", "entry", "band", "node", "hour", "concurrency")) d[[column]] <- factor(d[[column]])
methods <- list(
  "lmer, random infra factors" = function() lmer(passed ~ 1 + (1 | task) + (1 | entry) + (1 | task:entry) +
    (1 | band) + (1 | node) + (1 | hour) + (1 | concurrency) + (1 | task:band), d),
  "lmer, fixed infra factors" = function() lmer(passed ~ band + node + hour + concurrency + (1 | task:entry), d),
  "glmer, nAGQ=0" = function() glmer(passed ~ band + node + hour + concurrency + (1 | task:entry), d,
    family = binomial, nAGQ = 0),
  "glmer, Laplace" = function() glmer(passed ~ band + node + hour + concurrency + (1 | task:entry), d,
    family = binomial)
)
used <- numeric(0) # the least of some repeats, where the work is short
while (length(used) == 0 || (sum(used) < 3 && length(used) < 7)) {
  spent <- system.time(fit <- suppressWarnings(suppressMessages(methods[[arguments[1]]]())))
  used <- c(used, spent[["user.self"]] + spent[["sys.self"]])
}
last <- tail(levels(d$band), 1)
effect <- if (paste0("band", last) %in% names(fixef(fit))) fixef(fit)[[paste0("band", last)]] else {
  shifts <- ranef(fit)$band[, 1]; tail(shifts, 1) - shifts[1]
}
scale <- if (grepl("^glmer", arguments[1])) "logits" else "points"
cat(sprintf('{"cpu_s": %.6f, "effect": %.6f, "scale": "%s"}\n', min(used),
            if (scale == "points") 100 * effect else effect, scale))
