import { expect } from 'chai'
import { jobNames } from '../../src/contracts/jobs.ts'
import { PlatformJob } from '../../src/crds/jobs.ts'
import { job, pod, secret } from '../../src/kube/builtin.ts'
import type { KubeClient } from '../../src/kube/client.ts'
import { isKubeError } from '../../src/kube/errors.ts'
import { call, expectCall, makeCaller, uniqueName, until } from '../worlds/platform.ts'
import { administrator, clientWithToken } from '../worlds/tenant.ts'
import { makeBesideVault, type VaultPlace } from '../worlds/vaultWorld.ts'

type JobDto = {
  name: string
  status: string
  env: Record<string, string>
  createdAt: string
  completedAt: string | null
  computePlan: string
}
type Page = { items: JobDto[] }

const IMAGE = 'docker.io/library/python'

describe('jobs', () => {
  let client: KubeClient
  let at: VaultPlace
  let namespace: string
  let base: string

  before(async () => {
    client = await administrator()
    const place = await makeBesideVault('jobs', 'a-canary-for-jobs')
    at = place
    namespace = place.namespace
    base = place.base
  })
  after(() => client.close())

  const path = (name: string) => `${base}/${name}`
  const make = async (body: object) => {
    const name = uniqueName('job')
    await expectCall(201, 'POST', path(name), { image: IMAGE, ...body })
    return name
  }
  const read = async (name: string) => (await expectCall<JobDto>(200, 'GET', path(name))).body
  const stored = async (name: string) =>
    (await client.get(PlatformJob.resource, { namespace, name })) as unknown as PlatformJob
  const ends = (name: string, status: string) =>
    until(`${name} is ${status}`, async () => {
      const found = await read(name)
      if (found.status !== status) throw new Error(found.status)
      return found
    })

  it('runs a job with its defaults, and lists newer jobs first', async () => {
    const name = await make({ env: { TEAM: 'search' } })
    const found = await ends(name, 'Succeeded')
    expect(found).to.deep.include({
      name,
      resourceGroup: at.group,
      image: IMAGE,
      tag: 'latest',
      computePlan: 'job-small',
      env: { TEAM: 'search' },
      activeDeadlineSeconds: 3600,
      ttlSecondsAfterFinished: 86_400,
    })
    expect(found).to.have.all.keys(
      ...['activeDeadlineSeconds', 'clusterId', 'completedAt', 'computePlan', 'createdAt', 'env', 'image', 'name'],
      ...['resourceGroup', 'status', 'tag', 'ttlSecondsAfterFinished'],
    )
    expect(Date.parse(found.completedAt ?? '')).to.be.at.least(Date.parse(found.createdAt))
    // Jobs of the same second are listed by name.
    await until('its second is over', () => Date.now() >= Date.parse(found.createdAt) + 1000)
    const later = await make({})
    const { body } = await expectCall<Page>(200, 'GET', `${base}?pageSize=500`)
    const names = body.items.map((item) => item.name)
    expect(names.indexOf(later)).to.be.lessThan(names.indexOf(name))
    const { body: done } = await expectCall<Page>(200, 'GET', `${base}?filter=status:eq:succeeded&sort=-completedAt`)
    expect(done.items.map((item) => item.name)).to.include(name)
  })

  it('returns 200 for the same POST, and 409 for another one, also after the end', async () => {
    const name = await make({ computePlan: 'job-medium' })
    await expectCall(200, 'POST', path(name), { image: IMAGE, computePlan: 'job-medium' })
    await ends(name, 'Succeeded')
    const { status, body } = await call('POST', path(name), { image: 'docker.io/library/node' })
    expect([status, body.code]).to.deep.equal([409, 'ALREADY_EXISTS'])
  })

  it('passes a vault secret to the pod only, and deletes the copy after the end', async () => {
    const name = await make({ env: { TOKEN: `@vault(${at.vault}/Token)` } })
    const made = await until('the batch Job is there', () =>
      client.get(job, { namespace, name: jobNames(name).workload }),
    )
    expect(JSON.stringify(made)).not.to.include('a-canary-for-jobs')
    expect(JSON.stringify(made)).to.include(jobNames(name).environment)
    expect((await read(name)).env).to.deep.equal({ TOKEN: `@vault(${at.vault}/Token)` })
    await ends(name, 'Succeeded')
    await until('the values are gone after the end', async () => {
      const left = await client.get(secret, { namespace, name: jobNames(name).environment }).catch((error) => error)
      if (!isKubeError(left, 'NotFound')) throw new Error('still there')
      return true
    })
  })

  it('waits for a missing secret, and names it in the status', async () => {
    const name = await make({ env: { TOKEN: `@vault(${at.vault}/Later)` } })
    await until('the status names the missing secret', async () => {
      const { status } = await stored(name)
      if (status?.phase !== 'ReferenceMissing') throw new Error(status?.phase)
      expect(status.statusMessage).to.equal(`Secret "Later" of vault "${at.vault}" does not exist.`)
      return true
    })
    await expectCall(200, 'PUT', at.secret('Later'), { value: 'x' })
    await ends(name, 'Succeeded')
  })

  it('refuses vaults that the writer may not read, by REST and by kubectl', async () => {
    const scope = `/boundaries/${at.boundaryId}/resourcegroups/${at.group}`
    const { token } = await makeCaller({ Contributor: scope })
    const body = { image: IMAGE, env: { TOKEN: `@vault(${at.vault}/Token)` } }
    const refused = await call('POST', path(uniqueName('job')), body, { token })
    expect([refused.status, refused.body.code]).to.deep.equal([403, 'FORBIDDEN'])
    const tenant = await clientWithToken(token)
    try {
      const object = (env: object) => ({
        apiVersion: PlatformJob.apiVersion,
        kind: PlatformJob.kind,
        metadata: { name: uniqueName('job'), namespace },
        spec: { image: IMAGE, env },
      })
      const admitted = await until('the API server knows the caller', () =>
        tenant.create(PlatformJob.resource, object({ A: 'plain' })),
      )
      expect(admitted.metadata.name).to.be.a('string')
      const error = await tenant.create(PlatformJob.resource, object(body.env)).catch((caught: unknown) => caught)
      expect((error as { denial?: { message: string } }).denial?.message).to.equal(
        'env refers to a vault whose secrets you may not read',
      )
    } finally {
      await tenant.close()
    }
  })

  it('rejects changes after creation', async () => {
    const name = await make({})
    const change = client.mergePatch(PlatformJob.resource, { namespace, name }, { spec: { tag: 'other' } })
    const error = await change.catch((caught: unknown) => caught)
    expect(isKubeError(error, 'Invalid')).to.equal(true)
  })

  it('stays Succeeded when its TTL removes the batch Job', async () => {
    const name = await make({ ttlSecondsAfterFinished: 0 })
    await ends(name, 'Succeeded')
    const ref = { namespace, name: jobNames(name).workload }
    await until('the TTL removes the batch Job', async () => {
      const left = await client.get(job, ref).catch((error) => error)
      if (!isKubeError(left, 'NotFound')) throw new Error('still there')
      return true
    })
    expect(await read(name)).to.include({ status: 'Succeeded' })
  })

  const waiting = async () => {
    const name = await make({ env: { TOKEN: `@vault(${at.vault}/${uniqueName('Never')})` } })
    await until('it waits for its secret', async () =>
      expect((await stored(name)).status?.phase).to.equal('ReferenceMissing'),
    )
    return name
  }

  it('ends when cancelled by REST or kubectl, and cannot be cancelled after its end', async () => {
    const byRest = await waiting()
    await expectCall(202, 'POST', `${path(byRest)}/cancel`)
    await ends(byRest, 'Failed')
    await expectCall(200, 'POST', `${path(byRest)}/cancel`)
    const byKubectl = await waiting()
    const patch = (name: string, cancelled: boolean) =>
      client.mergePatch(PlatformJob.resource, { namespace, name }, { spec: { cancelled } })
    await patch(byKubectl, true)
    await ends(byKubectl, 'Failed')
    expect((await stored(byKubectl)).status).to.include({ phase: 'JobCancelled', statusMessage: 'It was cancelled.' })
    const back = await patch(byKubectl, false).catch((caught: unknown) => caught)
    expect(isKubeError(back, 'Invalid')).to.equal(true)
    const done = await make({})
    await ends(done, 'Succeeded')
    const late = await call('POST', `${path(done)}/cancel`)
    expect([late.status, late.body.code]).to.deep.equal([409, 'INVALID_STATE'])
    const refused = await patch(done, true).catch((caught: unknown) => caught)
    expect((refused as { denial?: { message: string } }).denial?.message).to.equal(
      'the job has ended: there is nothing to cancel',
    )
  })

  it('deletes batch Job and pods with the job', async () => {
    const name = await make({})
    await expectCall(204, 'DELETE', path(name))
    await until('batch Job and pods are gone', async () => {
      const { items } = await client.list(pod, { namespace, labelSelector: `freehold.dev/owner-name=${name}` })
      const left = await client.get(job, { namespace, name: jobNames(name).workload }).catch((error) => error)
      if (items.length > 0 || !isKubeError(left, 'NotFound')) throw new Error('still there')
      return true
    })
  })

  it('returns the empty log of a simulated pod as text and JSON, and 400 for unknown queries', async () => {
    const name = await make({})
    await ends(name, 'Succeeded')
    const text = await expectCall(200, 'GET', `${path(name)}/logs?tail=5`)
    expect(text.headers.get('content-type')).to.equal('text/plain; charset=utf-8')
    expect(text.text).to.equal('')
    const headers = { accept: 'application/json' }
    const json = await expectCall(200, 'GET', `${path(name)}/logs`, undefined, { headers })
    expect(json.body).to.deep.equal({ lines: [], truncated: false })
    for (const query of ['tail=10001', 'process=other', 'sinceSeconds=0', 'timestamps=yes', 'lines=5'])
      expect((await call('GET', `${path(name)}/logs?${query}`)).status, query).to.equal(400)
    expect((await call('GET', `${path(name)}/logs?previous=true`)).status).to.equal(404)
  })

  const refusals: [string, object, number, string][] = [
    ['no image', {}, 400, 'MODEL_BINDING_FAILED'],
    ['a deadline of zero', { image: IMAGE, activeDeadlineSeconds: 0 }, 400, 'BAD_REQUEST'],
    ['a TTL of more than 30 days', { image: IMAGE, ttlSecondsAfterFinished: 2_592_001 }, 400, 'BAD_REQUEST'],
    ['a field of another record', { image: IMAGE, replicas: 2 }, 400, 'MODEL_BINDING_FAILED'],
    ['a plan that does not exist', { image: IMAGE, computePlan: 'job-none' }, 422, 'PLAN_NOT_FOUND'],
    ['a plan of another family', { image: IMAGE, computePlan: 'vector-dev' }, 400, 'BAD_REQUEST'],
  ]
  for (const [title, body, status, code] of refusals) {
    it(`rejects ${title} with ${status} ${code}`, async () => {
      const answer = await call('POST', path(uniqueName('job')), body)
      expect([answer.status, answer.body.code], answer.text).to.deep.equal([status, code])
    })
  }
})
