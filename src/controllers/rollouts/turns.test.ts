import { expect } from 'chai'
import { type Passes, withPasses } from '../../../test/crashes/wakes.ts'
import { ControllerBench } from '../../../test/worlds/controllers.ts'
import { SYSTEM_NAMESPACE } from '../../core/names.ts'
import type { KubeObject } from '../../core/object.ts'
import type { AnyKind } from '../../crds/define.ts'
import { ComponentInstall } from '../../crds/lifecycle.ts'
import { PlatformDriftScan } from '../../crds/rollouts.ts'
import { installController } from '../lifecycle/install.ts'
import { scanController } from './scan.ts'

const WAITING = 10
const namespace = SYSTEM_NAMESPACE
/** Nothing ends the scan that runs. */
const inspector = { facts: async () => ({}), drift: () => Promise.reject(new Error('It cannot look now.')) }

type Case = { kind: AnyKind; spec: object; busy: object; over: object }
const CASES: readonly Case[] = [
  {
    kind: ComponentInstall,
    spec: { component: 'cnpg', kind: 'Install', requests: {}, startedBy: 'me' },
    busy: { state: 'Paused', step: 'Chart' },
    over: { state: 'Cancelled' },
  },
  { kind: PlatformDriftScan, spec: { trigger: 'Manual' }, busy: { state: 'Running' }, over: { state: 'Failed' } },
]

for (const { kind, spec, busy, over } of CASES)
  describe(`${kind.kind} objects that wait for their turn`, () => {
    let bench: ControllerBench
    let passes: Passes

    const made = (minute: number, name: string) => {
      const creationTimestamp = `2026-01-01T00:${String(minute).padStart(2, '0')}:00Z`
      return bench.seed(kind, name, kind.spec.parse(spec) as object, { namespace, creationTimestamp })
    }
    const report = (name: string, status: object) =>
      bench.client.edit(kind.resource, { namespace, name }, (object: KubeObject) => {
        object.status = status
      })
    const passesOf = (name: string) => passes.filter((pass) => pass.endsWith(`/${name}`))

    beforeEach(async () => {
      passes = []
      const options = { inspector: inspector as never, version: '1.0.0', velero: 'velero' }
      const all = [installController, scanController(options)]
      bench = new ControllerBench(all.map((one) => withPasses(one, passes)))
      made(0, 'first')
      report('first', over)
      await bench.start()
      report('first', busy)
      for (let minute = 1; minute <= WAITING; minute += 1) made(minute, `waiting-${minute}`)
    })
    afterEach(() => bench.stop())

    it('are not woken by one more that waits', async () => {
      await bench.rest()
      passes.length = 0
      made(WAITING + 1, 'later')
      await bench.rest()
      expect(passes).to.have.length.within(1, 2)
      expect(passesOf('later')).to.deep.equal(passes)
    })

    it('are woken when the first one is over', async () => {
      await bench.rest()
      passes.length = 0
      report('first', over)
      await bench.rest()
      expect(passesOf('waiting-1')).not.to.be.empty
      const next = await bench.find<KubeObject & { status?: { state?: string } }>(kind.resource, 'waiting-1', namespace)
      expect(next?.status?.state).not.to.be.oneOf([undefined, 'Queued'])
    })
  })
