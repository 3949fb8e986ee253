import { request } from 'node:http'
import { type ActivatorStatus, EVENT_HEADER } from '../contracts/functions.ts'
import { messageOf } from '../core/errors.ts'
import type { Log } from '../core/log.ts'
import { refOf } from '../core/object.ts'
import { ServerlessFunction } from '../crds/functions.ts'
import type { KubeClient } from '../kube/client.ts'
import { type CopyRequest, connectToCopy } from './copyConnection.ts'
import { type CallDependencies, sendToFreeCopy } from './server.ts'
import type { ServedFunction, Switchboard } from './switchboard.ts'
import type { DueRun, ScheduledFunction, TimersOptions } from './timers.ts'

export type TimerRunsOptions = CallDependencies & {
  switchboard: Pick<Switchboard, 'findFunction' | 'functions'>
  client: Pick<KubeClient, 'mergePatch'>
  log: Log
}

/** Connects timers to functions: lists them, records runs in their status, and calls them. */
export function createTimerHooks(
  options: TimerRunsOptions,
): Pick<TimersOptions, 'functions' | 'recordSchedules' | 'recordRun' | 'call'> {
  const { switchboard, client, log } = options
  const servedOf = (key: string) => switchboard.findFunction(key)
  const store = async (key: string, status: ActivatorStatus) => {
    const object = servedOf(key)?.object
    if (object === undefined) return
    const change = { subresource: 'status', uid: object.metadata.uid }
    await client.mergePatch(ServerlessFunction.resource, refOf(object), { status }, change)
  }
  return {
    functions: () => switchboard.functions().map(scheduledOf),
    recordSchedules: (key, timers) => {
      const { lastRuns = {} } = servedOf(key)?.object.status ?? {}
      // Timers that are gone, or that a clock running ahead has fired.
      const forgotten = Object.entries(timers).filter(
        ([name, timer]) => timer === null || (lastRuns[name] ?? '') > timer.since,
      )
      return store(key, { timers, lastRuns: Object.fromEntries(forgotten.map(([name]) => [name, null])) })
    },
    recordRun: ({ key, trigger, scheduledAt }) => store(key, { lastRuns: { [trigger]: scheduledAt } }),
    async call(due) {
      const served = servedOf(due.key)
      if (served === undefined) return
      try {
        await runTimer(options, served, due)
      } catch (error) {
        log.warn({ ...due, error: messageOf(error) }, 'A timer did not reach its function.')
      }
    },
  }
}

const scheduledOf = ({ object, callable, isEnabled }: ServedFunction): ScheduledFunction => ({
  key: callable.key,
  enabled: isEnabled,
  createdAt: object.metadata.creationTimestamp ?? '',
  isUnchanged: object.metadata.generation === 1,
  triggers: callable.triggers,
  lastRuns: object.status?.lastRuns ?? {},
  known: object.status?.timers ?? {},
})

async function runTimer(
  { statistics, reach, clock, isSimulated }: TimerRunsOptions,
  served: ServedFunction,
  due: DueRun,
): Promise<void> {
  const signal = AbortSignal.timeout(served.object.spec.timeoutSeconds * 1000)
  // Simulated pods run nothing that could be counted.
  if (isSimulated) return void (await sendToFreeCopy(served, signal, async () => {}))
  await statistics.count(served.callable.key, clock, () =>
    sendToFreeCopy(served, signal, (address) => post({ address, reach, signal }, due)),
  )
}

/** Follows no redirect: the tenant controls its target. @throws Error if the status is not 2xx */
async function post({ address, reach, signal }: CopyRequest, { trigger, scheduledAt }: DueRun): Promise<number> {
  const { isOpen: _, ...connection } = await connectToCopy(address, reach, signal)
  const body = JSON.stringify({ trigger, scheduledAt })
  const headers = {
    'content-type': 'application/json',
    'content-length': Buffer.byteLength(body),
    [EVENT_HEADER]: 'timer',
  }
  const status = await new Promise<number>((resolve, reject) => {
    const outgoing = request({ ...connection, method: 'POST', path: '/', headers, signal }, (answer) => {
      resolve(answer.statusCode ?? 0)
      answer.destroy()
    })
    // After an answer the promise is settled, and this changes nothing.
    outgoing.on('error', reject)
    outgoing.end(body)
  })
  if (status < 200 || status > 299) throw new Error(`The function answered ${status}.`)
  return status
}
