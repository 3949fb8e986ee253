import { readFile } from 'node:fs/promises'
import { promised } from '../make/until.ts'
import { type Oracle, oracle, seconds, within } from './oracle.ts'
import type { Scene, TimedReply } from './scene.ts'

const WAITS = 'Waiting for the API server.'

/** The operator starts while the control plane is unavailable. */
export async function startedAlone(scene: Scene): Promise<Oracle[]> {
  const { own } = scene
  await own.endOperator('SIGTERM')
  const waits = async () => (await readFile(own.operatorLog, 'utf8')).split(WAITS).length - 1
  const before = await waits()
  let started: Promise<void> | undefined
  let first: number | undefined
  let probes: TimedReply[] = []
  await scene.withoutControlPlane(async () => {
    started = own.startOperator()
    // Its failure is handled below.
    started.catch(() => undefined)
    first = own.operatorPid
    await within('the log reports waiting', promised(15_000), async () => (await waits()) > before)
    probes = [await scene.alive(), await scene.readiness()]
  })
  const isReady = async () => (await scene.readiness()).status === 200
  const back = await within('the operator is ready', promised(60_000), isReady)
  await started
  const logged = (await waits()) - before
  const name = `/vectorclusters/started-${Date.now()}`
  const made = await scene.call('POST', scene.resources + name, {})
  return [
    oracle('the log reports waiting for the API server', logged > 0, `${logged} lines`),
    oracle(
      '/livez returns 200 and /readyz 503 meanwhile',
      probes[0]?.status === 200 && probes[1]?.status === 503,
      probes.map(({ status }) => status).join(', '),
    ),
    oracle('the process is not restarted', own.operatorPid === first, `${first}, then ${own.operatorPid}`),
    oracle('the operator is ready within 10 s of the return', back <= promised(10_000), seconds(back)),
    oracle(
      'a vector cluster can be created afterwards',
      made.status === 201,
      `${made.status} ${made.text.slice(0, 200)}`,
    ),
  ]
}
