// @alone: kills the operator of a node of its own.
import { setTimeout as delay } from 'node:timers/promises'
import { expect } from 'chai'
import { silentProgress } from '../../scripts/controlplane/index.ts'
import { REGISTRY } from '../../scripts/node/addresses.ts'
import { packageImage, pushInto } from '../../scripts/node/images.ts'
import { runningNamespaces } from '../../scripts/node/namespaces.ts'
import type { KubeObject, Resource } from '../../src/core/object.ts'
import { ContainerInstance } from '../../src/crds/containerinstances.ts'
import { PlatformJob } from '../../src/crds/jobs.ts'
import { ManagedIdentity } from '../../src/crds/managedidentities.ts'
import {
  job as batchJob,
  controllerRevision,
  deployment,
  persistentVolumeClaim,
  pod,
  secret,
  service,
} from '../../src/kube/builtin.ts'
import { isKubeError } from '../../src/kube/errors.ts'
import { OwnPlatform } from '../cluster/platform.ts'
import { TEST_CONFIG } from '../config.ts'
import { until } from '../make/until.ts'
import { makeFleet, objectOf } from '../worlds/fleet.ts'
import { SHELL } from './testImages.ts'

const IMAGE = `${REGISTRY}/${SHELL.name}`
const [JOB_IMAGE, JOB_TAG] = [IMAGE.slice(0, IMAGE.lastIndexOf(':')), IMAGE.slice(IMAGE.lastIndexOf(':') + 1)]
const web = (word: string) => ({
  name: 'web',
  image: IMAGE,
  command: ['sh', '-c', `echo ${word} > /srv/index.html; exec busybox httpd -f -p 8080 -h /srv`],
  ports: [{ name: 'http', port: 8080 }],
  mounts: [{ volume: 'disk', path: '/srv' }],
  gracePeriodSeconds: 1,
})
const volumes = [{ name: 'disk', kind: 'Persistent', size: '1Gi' }]
/** The steps of a flow. The operator may be killed in each. */
const STEPS = ['made', 'changed', 'deleted'] as const
type Kill = { in: (typeof STEPS)[number]; after: number }

type Status = { status?: string; observedGeneration?: number; state?: string; exitCode?: number; revision?: number }
const statusOf = (object: KubeObject | undefined) => (object?.status ?? {}) as Status

describe('container instances and jobs on a node whose operator is killed', () => {
  let own: OwnPlatform
  let namespace: string
  let inPeace: object

  before(async () => {
    own = await OwnPlatform.prepare({ hasRealNode: true })
    await own.startOperator()
    const node = await runningNamespaces(own.controlPlane.folder)
    if (node === undefined) throw new Error('There is no node.')
    await pushInto(node, [await packageImage(SHELL, { progress: silentProgress, signal: undefined })])
    namespace = (await makeFleet(own.admin, { groups: 1, databases: 0 })).namespaces[0] ?? ''
    inPeace = await flow('peace', undefined)
  })
  after(() => own?.stop())

  async function find(resource: Resource, name: string): Promise<KubeObject | undefined> {
    try {
      return await own.admin.get(resource, { namespace, name })
    } catch (error) {
      if (isKubeError(error, 'NotFound')) return undefined
      throw error
    }
  }

  /** Kills the operator some time after the step began, and starts another. */
  async function step(name: (typeof STEPS)[number], kill: Kill | undefined, act: () => Promise<unknown>) {
    await act()
    if (kill?.in !== name) return
    await delay(kill.after)
    await own.endOperator('SIGKILL')
    await own.startOperator()
  }

  const runs = (name: string) =>
    until(`${name} runs`, async () => {
      const found = await find(ContainerInstance.resource, name)
      const { status, observedGeneration } = statusOf(found)
      return status === 'Running' && observedGeneration === found?.metadata.generation
    })
  const ended = (name: string) =>
    until(`${name} has ended`, async () => statusOf(await find(PlatformJob.resource, name)).state === 'Succeeded')

  const OWNED = [deployment, service, persistentVolumeClaim, controllerRevision, batchJob, pod, secret]
  /** The objects of the owner, without values that differ from run to run. */
  async function left(owner: string): Promise<string[]> {
    const found: string[] = []
    for (const resource of OWNED) {
      const { items } = await own.admin.list(resource, { namespace, labelSelector: `freehold.dev/owner-name=${owner}` })
      for (const { metadata } of items) {
        const name = resource === pod ? 'one' : metadata.name
        found.push(`${resource.kind} ${name.replaceAll(owner, 'NAME')}`)
      }
    }
    return found.sort()
  }

  async function flow(name: string, kill: Kill | undefined): Promise<object> {
    const job = `${name}-job`
    await step('made', kill, async () => {
      const spec = { computePlan: 'container-nano', components: [web('one')], volumes, managedIdentity: true }
      await own.admin.create(ContainerInstance.resource, objectOf(ContainerInstance, name, namespace, spec))
      const work = { image: JOB_IMAGE, tag: JOB_TAG, command: ['sh', '-c', 'sleep 1; echo done'], runAsUser: 65_532 }
      await own.admin.create(PlatformJob.resource, objectOf(PlatformJob, job, namespace, work))
    })
    await runs(name)
    await ended(job)
    await step('changed', kill, () =>
      own.admin.mergePatch(ContainerInstance.resource, { namespace, name }, { spec: { components: [web('two')] } }),
    )
    await runs(name)
    const running = await until('one copy is left', async () => {
      const found = await left(name)
      return found.filter((one) => one.startsWith('Pod ')).length === 1 && found
    })
    const log = await until('the log of the job is kept', async () => {
      const found = await left(job)
      return found.some((one) => one.startsWith('Secret ')) && found
    })
    const { revision } = statusOf(await find(ContainerInstance.resource, name))
    const { state, exitCode } = statusOf(await find(PlatformJob.resource, job))
    await step('deleted', kill, async () => {
      await own.admin.remove(ContainerInstance.resource, { namespace, name })
      await own.admin.remove(PlatformJob.resource, { namespace, name: job })
    })
    await until('both are gone', async () => {
      const [instance, work] = [await find(ContainerInstance.resource, name), await find(PlatformJob.resource, job)]
      const rest = [...(await left(name)), ...(await left(job))]
      const { items } = await own.admin.list(ManagedIdentity.resource, { namespace })
      if (instance === undefined && work === undefined && rest.length === 0 && items.length === 0) return true
      throw new Error(`left: ${rest.join(', ')}, ${items.length} identities`)
    })
    return { running, log, revision, state, exitCode }
  }

  const kills = TEST_CONFIG.sized(2, 20)
  for (let number = 1; number <= kills; number += 1) {
    const kill: Kill = { in: STEPS[number % STEPS.length] ?? 'made', after: (number * 370) % 3_000 }
    it(`end in the same state, killed ${kill.after} ms after being ${kill.in}`, async () => {
      expect(await flow(`site-${number}`, kill)).to.deep.equal(inPeace)
    })
  }
})
