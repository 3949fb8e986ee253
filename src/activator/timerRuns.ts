import { EVENT_HEADER } from '../contracts/functions.ts'
import type { Clock } from '../core/clock.ts'
import { messageOf } from '../core/errors.ts'
import type { Log } from '../core/log.ts'
import { refOf } from '../core/object.ts'
import { ServerlessFunction } from '../crds/functions.ts'
import type { KubeClient } from '../kube/client.ts'
import type { Figures } from './figures.ts'
import { sent } from './server.ts'
import type { Line, Switchboard } from './switchboard.ts'
import type { Due, Scheduled, TimersOptions } from './timers.ts'

export type TimerRunsOptions = {
  switchboard: Pick<Switchboard, 'lines'>
  client: Pick<KubeClient, 'mergePatch'>
  figures: Figures
  clock: Clock
  log: Log
  /** Whether pods are played: their addresses are made up, and may be somebody's. */
  isPlayed: boolean
}

/** How timers find the functions, note in their status that they fired, and call them. */
export function timerRuns(options: TimerRunsOptions): Pick<TimersOptions, 'functions' | 'learn' | 'note' | 'call'> {
  const { switchboard, client, log } = options
  const lineOf = (key: string) => switchboard.lines().find(({ callable }) => callable.key === key)
  const store = async (key: string, status: object) => {
    const object = lineOf(key)?.object
    if (object === undefined) return
    const change = { subresource: 'status', uid: object.metadata.uid }
    await client.mergePatch(ServerlessFunction.resource, refOf(object), { status }, change)
  }
  return {
    functions: () => switchboard.lines().map(scheduledOf),
    learn: (key, timers) => {
      const gone = Object.entries(timers).filter(([, timer]) => timer === null)
      return store(key, { timers, lastRuns: Object.fromEntries(gone) })
    },
    note: ({ key, trigger, scheduledAt }) => store(key, { lastRuns: { [trigger]: scheduledAt } }),
    async call(due) {
      const line = lineOf(due.key)
      if (line === undefined) return
      try {
        await run(options, line, due)
      } catch (error) {
        log.warn({ ...due, error: messageOf(error) }, 'A timer did not reach its function.')
      }
    },
  }
}

const scheduledOf = ({ object, callable }: Line): Scheduled => ({
  key: callable.key,
  enabled: object.spec.enabled && object.metadata.deletionTimestamp === undefined,
  createdAt: object.metadata.creationTimestamp ?? '',
  isUnchanged: object.metadata.generation === 1,
  triggers: callable.triggers,
  lastRuns: object.status?.lastRuns ?? {},
  known: object.status?.timers ?? {},
})

async function run({ figures, clock, isPlayed }: TimerRunsOptions, line: Line, due: Due): Promise<void> {
  const signal = AbortSignal.timeout(line.object.spec.timeoutSeconds * 1000)
  // Nothing runs that could be counted.
  if (isPlayed) return void (await sent(line, signal, async () => {}))
  await figures.count(line.callable.key, clock, () => sent(line, signal, (address) => post(address, due, signal)))
}

/** @throws Error if the function answers with anything but success */
async function post(address: string, { trigger, scheduledAt }: Due, signal: AbortSignal): Promise<number> {
  const answer = await fetch(`http://${address}/`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', [EVENT_HEADER]: 'timer' },
    body: JSON.stringify({ trigger, scheduledAt }),
    signal,
    // Where an answer leads is the tenant's word: nothing of the platform goes there.
    redirect: 'manual',
  })
  await answer.body?.cancel()
  if (!answer.ok) throw new Error(`The function answered ${answer.status}.`)
  return answer.status
}
