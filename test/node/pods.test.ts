import { expect } from 'chai'
import { groupNamespace } from '../../src/core/names.ts'
import type { KubeObject } from '../../src/core/object.ts'
import { PlatformJob } from '../../src/crds/jobs.ts'
import { persistentVolume, persistentVolumeClaim, pod } from '../../src/kube/builtin.ts'
import type { KubeClient } from '../../src/kube/client.ts'
import { isKubeError } from '../../src/kube/errors.ts'
import { expectCall, makeBoundary, makeGroup, uniqueName, until } from '../worlds/platform.ts'
import { administrator } from '../worlds/tenant.ts'
import { podIn, pushShell, SHELL_IMAGE, shellPod } from './shell.ts'

/** @everyRun */
describe('pods on a node', () => {
  let client: KubeClient
  let home: { boundaryId: string; group: string; namespace: string }

  before(async () => {
    client = await administrator()
    await pushShell()
    const { id: boundaryId } = await makeBoundary()
    const { name: group } = await makeGroup(boundaryId)
    home = { boundaryId, group, namespace: groupNamespace(boundaryId, group) }
  })
  after(() => client.close())

  const run = async (namespace: string, command: string, more: object = {}) => {
    const made = shellPod(uniqueName('shell'), namespace, command, more)
    await client.create(pod, made)
    return { namespace, name: made.metadata.name }
  }
  const exitCode = async (ref: { namespace: string; name: string }) =>
    (await podIn(client, ref, 'Succeeded', 'Failed')).status?.containerStatuses?.[0]?.state?.terminated?.exitCode

  it('runs a job to its end, and keeps its exit code and log after the pod is deleted', async () => {
    const { boundaryId, group, namespace } = home
    const path = `/boundaries/${boundaryId}/resourcegroups/${group}/resources/jobs/${uniqueName('job')}`
    const name = path.split('/').at(-1) ?? ''
    const { apiVersion, kind } = PlatformJob
    const [image = '', tag = ''] = SHELL_IMAGE.split(/:(?=[^:]*$)/)
    const command = ['sh', '-c', 'echo one; echo two >&2; exit 3']
    const spec = { image, tag, command, retries: 0, runAsUser: 65_532 }
    await client.create(PlatformJob.resource, { apiVersion, kind, metadata: { name, namespace }, spec })
    await until('the job has failed', async () => {
      const { body } = await expectCall<{ status: string }>(200, 'GET', path)
      return body.status === 'Failed'
    })
    const { status } = (await client.get(PlatformJob.resource, { namespace, name })) as unknown as PlatformJob
    expect(status?.statusMessage).to.equal('The job failed. Its last exit code is 3.')
    const log = await until('both lines are there', async () => {
      const { text } = await expectCall(200, 'GET', `${path}/logs`)
      return text.includes('two') && text
    })
    // The two outputs have separate pipes.
    expect(log.split('\n').sort()).to.deep.equal(['', 'one', 'two'])
    await until('the log is kept', async () => {
      const { status: kept } = (await client.get(PlatformJob.resource, { namespace, name })) as unknown as PlatformJob
      return (kept?.logParts ?? 0) > 0
    })
    const { items } = await client.list(pod, { namespace })
    const own = items.filter(({ metadata }) => metadata.name.includes(name))
    await Promise.all(own.map(({ metadata }) => client.remove(pod, { namespace, name: metadata.name })))
    expect((await expectCall(200, 'GET', `${path}/logs`)).text).to.equal(log)
  })

  it('writes to a volume without root, and deletes the volume with its claim', async () => {
    const { namespace } = home
    const name = uniqueName('claim')
    await client.create(persistentVolumeClaim, {
      apiVersion: 'v1',
      kind: 'PersistentVolumeClaim',
      metadata: { name, namespace },
      spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } } },
    } as KubeObject)
    const volumes = { volumes: [{ name: 'data', persistentVolumeClaim: { claimName: name } }] }
    expect(await exitCode(await run(namespace, 'echo kept > /data/file', volumes))).to.equal(0)
    expect(await exitCode(await run(namespace, 'test "$(cat /data/file)" = kept', volumes))).to.equal(0)
    const { items } = await client.list(persistentVolume)
    const volume = items.find(({ spec }) => (spec as { claimRef?: { name: string } }).claimRef?.name === name)
    const { items: pods } = await client.list(pod, { namespace })
    await Promise.all(pods.map(({ metadata }) => client.remove(pod, { namespace, name: metadata.name })))
    await client.remove(persistentVolumeClaim, { namespace, name })
    await until('the volume is deleted', async () => {
      const left = await client
        .get(persistentVolume, { name: volume?.metadata.name ?? '' })
        .catch((error: unknown) => error)
      return isKubeError(left, 'NotFound')
    })
  })

  it('resolves Services by name', async () => {
    const { namespace } = home
    expect(await exitCode(await run(namespace, 'busybox nslookup kubernetes.default.svc.cluster.local'))).to.equal(0)
  })
})
