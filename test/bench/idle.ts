import { setTimeout as delay } from 'node:timers/promises'
import type { BenchmarkOptions } from './options.ts'
import { cpuSeconds } from './processes.ts'
import { circumstances, setStage } from './stage.ts'

/** After the last write, so that what a write set off is over. */
const SETTLE_SECONDS = 30

/** B8: what a converged platform asks of the API server, and how much of a core it uses, while nothing changes. */
export async function runIdle({ seconds, count = 1_000 }: BenchmarkOptions): Promise<object> {
  const stage = await setStage(count, { proxied: true })
  const { proxies, operatorPid } = stage.own
  try {
    await delay(SETTLE_SECONDS * 1000)
    proxies?.controllers.reset()
    proxies?.facade.reset()
    const before = cpuSeconds(operatorPid)
    await delay(seconds * 1000)
    const used = cpuSeconds(operatorPid) - before
    const requests = { controllers: proxies?.controllers.counts().by, facade: proxies?.facade.counts().by }
    return {
      benchmark: 'idle',
      ...circumstances(stage),
      objects: count,
      seconds,
      requests,
      shareOfACore: Math.round((used / seconds) * 10_000) / 10_000,
    }
  } finally {
    await stage.stop()
  }
}
