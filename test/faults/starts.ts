import { readFile } from 'node:fs/promises'
import { promised } from '../make/until.ts'
import { type Oracle, oracle, seconds, within } from './oracle.ts'
import type { Heard, Scene } from './scene.ts'

const WAITS = 'Waiting for the API server.'

/** The operator starts while the control plane is unavailable. */
export async function startedAlone(scene: Scene): Promise<Oracle[]> {
  const { own } = scene
  await own.endOperator('SIGTERM')
  const told = async () => (await readFile(own.operatorLog, 'utf8')).split(WAITS).length - 1
  const before = await told()
  let started: Promise<void> | undefined
  let first: number | undefined
  let heard: Heard[] = []
  await scene.withoutControlPlane(async () => {
    started = own.startOperator()
    // Its failure is handled below.
    started.catch(() => undefined)
    first = own.operatorPid
    await within('it says that it waits', promised(15_000), async () => (await told()) > before)
    heard = [await scene.alive(), await scene.readiness()]
  })
  const isReady = async () => (await scene.readiness()).status === 200
  const back = await within('it is ready', promised(60_000), isReady)
  await started
  const said = (await told()) - before
  const name = `/vectorclusters/started-${Date.now()}`
  const made = await scene.call('POST', scene.resources + name, {})
  return [
    oracle('it says that it waits for the API server', said > 0, `${said} lines`),
    oracle(
      'it is alive and not ready meanwhile',
      heard[0]?.status === 200 && heard[1]?.status === 503,
      heard.map(({ status }) => status).join(', '),
    ),
    oracle('no other process takes its place', own.operatorPid === first, `${first}, then ${own.operatorPid}`),
    oracle('it is ready within 10 s of the return', back <= promised(10_000), seconds(back)),
    oracle('and takes what is asked of it', made.status === 201, `${made.status} ${made.text.slice(0, 200)}`),
  ]
}
