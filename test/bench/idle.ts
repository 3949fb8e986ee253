import { setTimeout as delay } from 'node:timers/promises'
import { lease } from '../../src/kube/builtin.ts'
import { resourceId } from '../../src/kube/object.ts'
import type { OwnPlatform } from '../cluster/platform.ts'
import { atMost, type Goal } from './goals.ts'
import type { BenchmarkOptions } from './options.ts'
import { cpuSeconds, waits } from './processes.ts'
import { circumstances, setStage } from './stage.ts'

/** Time after the last write for its effects to end. */
const SETTLE_SECONDS = 30

/** B8: a converged platform's requests to the API server, and its processor time, while nothing changes. */
export async function runIdle({ seconds, count = 1_000 }: BenchmarkOptions): Promise<object> {
  const stage = await setStage(count, { proxied: true })
  const { proxies, operatorPid } = stage.own
  try {
    await delay(SETTLE_SECONDS * 1000)
    const watches = countsOf(stage.own).filter(isWatch).length
    proxies?.controllers.reset()
    proxies?.facade.reset()
    const [before, waitsBefore] = [cpuSeconds(operatorPid), waits(operatorPid)]
    await delay(seconds * 1000)
    const used = cpuSeconds(operatorPid) - before
    const wakesPerSecond = Math.round((waits(operatorPid) - waitsBefore) / seconds)
    const requests = { controllers: proxies?.controllers.counts().by, facade: proxies?.facade.counts().by }
    const shareOfACore = Math.round((used / seconds) * 10_000) / 10_000
    return {
      benchmark: 'idle',
      ...circumstances(stage),
      objects: count,
      seconds,
      requests,
      shareOfACore,
      wakesPerSecond,
      goals: [
        ...goalsOf(countsOf(stage.own), watches, seconds / 60),
        atMost('share of a core', '%', 0.5, shareOfACore * 100),
        atMost('times a second that the operator wakes', '', 30, wakesPerSecond),
      ],
    }
  } finally {
    await stage.stop()
  }
}

/** Requests of all proxies, by verb and resource. */
function countsOf({ proxies }: OwnPlatform): [what: string, count: number][] {
  return [proxies?.controllers, proxies?.facade].flatMap((proxy) => Object.entries(proxy?.counts().by ?? {}))
}

const isWatch = ([what]: [string, number]) => what.startsWith('watch ')
const isLease = ([what]: [string, number]) => what.endsWith(resourceId(lease))

/** @param watches the number that the platform keeps open */
function goalsOf(counts: readonly [string, number][], watches: number, minutes: number): Goal[] {
  const sum = (of: readonly [string, number][]) => of.reduce((all, [, count]) => all + count, 0)
  const others = counts.filter((each) => !isWatch(each) && !isLease(each))
  return [
    atMost('requests beside watches and leases', '', 0, sum(others)),
    atMost('openings of a watch in a minute', '', 0.2, sum(counts.filter(isWatch)) / watches / minutes),
    atMost('requests about leases in a minute', '', 30, sum(counts.filter(isLease)) / minutes),
  ]
}
