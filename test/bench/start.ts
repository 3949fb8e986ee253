import { spawn } from 'node:child_process'
import { get } from 'node:http'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { bundle, bundledProgram } from '../../scripts/bundle.ts'
import { FACADE_ACCOUNT } from '../../scripts/generate/policies.ts'
import { KINDS } from '../../src/crds/index.ts'
import { OwnPlatform } from '../cluster/platform.ts'
import { endedBy } from '../make/ownProcess.ts'
import { atMost } from './goals.ts'
import { ratio } from './load.ts'
import type { BenchmarkOptions } from './options.ts'
import { cpuSeconds, residentMegabytes } from './processes.ts'
import { circumstances, UNLIMITED } from './stage.ts'

/** Time after which an idle process has freed what only its start needed. */
const SETTLED = 15_000
const ASK_EVERY = 5

type Start = { seconds: number; cpuSeconds: number; megabytesWhenReady: number; megabytes: number }
type Arm = { name: string; args: readonly string[]; environment: Record<string, string>; readyAt: string }

/**
 * B10: the time from starting a process to its first 200 on `/readyz`, on an empty platform with a warm file cache, and
 * its memory then: the bundle as the image starts it, without compiled code. Compared with the sources as `npm run up`
 * starts them, with and without compiled code, and a process that only runs client-node's informers for the same kinds.
 */
export async function runStart({ rounds }: BenchmarkOptions): Promise<object> {
  const own = await OwnPlatform.prepare({ proxied: true, environment: UNLIMITED })
  try {
    const watches = await countWatches(own)
    const { program, args, environment } = own.command
    const kubeconfig = join(own.controlPlane.folder, 'platform', 'kubeconfig')
    const readyAt = `http://127.0.0.1:${own.ports.management}/readyz`
    const compiled = { ...environment, PLATFORM_KUBECONFIG: kubeconfig }
    const uncompiled = { ...compiled, NODE_DISABLE_COMPILE_CACHE: '1' }
    await bundle()
    const ours = { name: 'ours', args: await bundledProgram(), environment: uncompiled, readyAt }
    const sources = { name: 'sources', args, environment: compiled, readyAt }
    const arms: Arm[] = [
      ours,
      sources,
      { ...sources, name: 'uncompiledSources', environment: uncompiled },
      stockInformers(kubeconfig, own.ports.management),
    ]
    const starts = new Map<string, Start[]>(arms.map(({ name }) => [name, []]))
    await measured(program, ours)
    await measured(program, sources)
    for (let round = 0; round < rounds; round += 1)
      for (const arm of arms) starts.get(arm.name)?.push(await measured(program, arm))
    const of = (name: string, figure: keyof Start) => ratio((starts.get(name) ?? []).map((start) => start[figure]))
    return {
      benchmark: 'start',
      ...circumstances({ own }),
      watches,
      arms: Object.fromEntries(
        arms.map(({ name }) => [
          name,
          {
            seconds: of(name, 'seconds'),
            cpuSeconds: of(name, 'cpuSeconds'),
            megabytesWhenReady: of(name, 'megabytesWhenReady'),
            megabytes: of(name, 'megabytes'),
          },
        ]),
      ),
      goals: [
        atMost('start to /readyz on an empty platform', 's', 1, of('ours', 'seconds').median),
        atMost('processor time of that start', 's', 1, of('ours', 'cpuSeconds').median),
        atMost('resident memory in role all', 'MB', 200, of('ours', 'megabytes').median),
      ],
    }
  } finally {
    await own.stop()
  }
}

/** The streams that a start opens, by resource. */
async function countWatches(own: OwnPlatform): Promise<{ all: number; ofDefinitions: number }> {
  await own.startOperator()
  const counts = Object.values(own.proxies ?? {}).flatMap((proxy) => Object.entries(proxy.counts().by))
  await own.endOperator('SIGTERM')
  const watches = counts.filter(([what]) => what.startsWith('watch '))
  const sum = (of: typeof watches) => of.reduce((total, [, count]) => total + count, 0)
  return {
    all: sum(watches),
    ofDefinitions: sum(watches.filter(([what]) => what.includes('customresourcedefinitions'))),
  }
}

/** Ready when the last informer has listed. */
function stockInformers(kubeconfig: string, port: number): Arm {
  const environment = {
    ...(process.env as Record<string, string>),
    PEER_KUBECONFIG: kubeconfig,
    PEER_CONTEXT: FACADE_ACCOUNT,
    PEER_PORT: String(port),
    PEER_KINDS: JSON.stringify(KINDS.map(({ resource }) => resource)),
  }
  const readyAt = `http://127.0.0.1:${port}/readyz`
  return { name: 'stockInformers', args: [join(import.meta.dirname, 'startPeer.ts')], environment, readyAt }
}

async function measured(program: string, { name, args, environment, readyAt }: Arm): Promise<Start> {
  const began = performance.now()
  const child = spawn(program, args, { stdio: ['ignore', 'ignore', 'inherit'], env: environment })
  try {
    while (!(await isReady(readyAt))) {
      if (child.exitCode !== null) throw new Error(`${name} ended with ${child.exitCode} before it was ready.`)
      await delay(ASK_EVERY)
    }
    const seconds = (performance.now() - began) / 1000
    const atOnce = { cpuSeconds: cpuSeconds(child.pid), megabytesWhenReady: residentMegabytes(child.pid) }
    await delay(SETTLED)
    return { seconds, ...atOnce, megabytes: residentMegabytes(child.pid) }
  } finally {
    await endedBy(child)
  }
}

/** Without `fetch`, whose first use takes longer than the answer. */
function isReady(url: string): Promise<boolean> {
  return new Promise((resolve) => {
    const request = get(url, { agent: false }, (answer) => {
      answer.resume()
      answer.once('end', () => resolve(answer.statusCode === 200))
    })
    request.once('error', () => resolve(false))
  })
}
