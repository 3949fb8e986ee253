import { request } from 'node:http'
import { type ActivatorStatus, EVENT_HEADER } from '../contracts/functions.ts'
import { messageOf } from '../core/errors.ts'
import type { Log } from '../core/log.ts'
import { refOf } from '../core/object.ts'
import { ServerlessFunction } from '../crds/functions.ts'
import type { KubeClient } from '../kube/client.ts'
import { type CallMeans, sent } from './server.ts'
import type { Line, Switchboard } from './switchboard.ts'
import type { Due, Scheduled, TimersOptions } from './timers.ts'
import { type ReachCopy, wayTo } from './way.ts'

export type TimerRunsOptions = CallMeans & {
  switchboard: Pick<Switchboard, 'line' | 'lines'>
  client: Pick<KubeClient, 'mergePatch'>
  log: Log
}

/** Connects timers to functions: lists them, records runs in their status, and calls them. */
export function timerRuns(options: TimerRunsOptions): Pick<TimersOptions, 'functions' | 'learn' | 'note' | 'call'> {
  const { switchboard, client, log } = options
  const lineOf = (key: string) => switchboard.line(key)
  const store = async (key: string, status: ActivatorStatus) => {
    const object = lineOf(key)?.object
    if (object === undefined) return
    const change = { subresource: 'status', uid: object.metadata.uid }
    await client.mergePatch(ServerlessFunction.resource, refOf(object), { status }, change)
  }
  return {
    functions: () => switchboard.lines().map(scheduledOf),
    learn: (key, timers) => {
      const { lastRuns = {} } = lineOf(key)?.object.status ?? {}
      // Timers that are gone, or that a clock running ahead has fired.
      const forgotten = Object.entries(timers).filter(
        ([name, timer]) => timer === null || (lastRuns[name] ?? '') > timer.since,
      )
      return store(key, { timers, lastRuns: Object.fromEntries(forgotten.map(([name]) => [name, null])) })
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

const scheduledOf = ({ object, callable, isOn }: Line): Scheduled => ({
  key: callable.key,
  enabled: isOn,
  createdAt: object.metadata.creationTimestamp ?? '',
  isUnchanged: object.metadata.generation === 1,
  triggers: callable.triggers,
  lastRuns: object.status?.lastRuns ?? {},
  known: object.status?.timers ?? {},
})

async function run({ figures, reach, clock, isPlayed }: TimerRunsOptions, line: Line, due: Due): Promise<void> {
  const signal = AbortSignal.timeout(line.object.spec.timeoutSeconds * 1000)
  // Simulated pods run nothing that could be counted.
  if (isPlayed) return void (await sent(line, signal, async () => {}))
  await figures.count(line.callable.key, clock, () =>
    sent(line, signal, (address) => post({ address, reach, signal }, due)),
  )
}

type Call = { address: string; reach: ReachCopy; signal: AbortSignal }

/** Follows no redirect: the tenant controls its target. @throws Error if the status is not 2xx */
async function post({ address, reach, signal }: Call, { trigger, scheduledAt }: Due): Promise<number> {
  const { isOpen: _, ...way } = await wayTo(address, reach, signal)
  const body = JSON.stringify({ trigger, scheduledAt })
  const headers = {
    'content-type': 'application/json',
    'content-length': Buffer.byteLength(body),
    [EVENT_HEADER]: 'timer',
  }
  const status = await new Promise<number>((resolve, reject) => {
    const asked = request({ ...way, method: 'POST', path: '/', headers, signal }, (answer) => {
      resolve(answer.statusCode ?? 0)
      answer.destroy()
    })
    // After an answer the promise is settled, and this changes nothing.
    asked.on('error', reject)
    asked.end(body)
  })
  if (status < 200 || status > 299) throw new Error(`The function answered ${status}.`)
  return status
}
