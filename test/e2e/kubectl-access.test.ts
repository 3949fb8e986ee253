import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import { boundaryNamespace, groupNamespace } from '../../src/core/names.ts'
import { Boundary } from '../../src/crds/boundaries.ts'
import { RoleAssignment } from '../../src/crds/rbac.ts'
import { VectorCluster } from '../../src/crds/vector.ts'
import type { KubeClient } from '../../src/kube/client.ts'
import { type AccessQuestion, questionsAbout } from '../cases/accessQuestions.ts'
import { TEST_CONFIG } from '../config.ts'
import { patiently, pauseAfterWords } from '../make/patience.ts'
import { SeededRandom } from '../make/random.ts'
import { type Ran, ranKubectl } from '../worlds/kubectl.ts'
import {
  call,
  expectCall,
  makeBoundary,
  makeCaller,
  makeGroup,
  type TestCaller,
  uniqueName,
  until,
} from '../worlds/platform.ts'
import { administrator, clientWithToken, kubeconfigWithToken } from '../worlds/tenant.ts'

type Kubectl = (args: string, input?: object) => Promise<Ran>

describe('kubectl with the roles of REST', () => {
  let folder: string
  let admin: KubeClient
  let boundaryId: string
  let foreignId: string
  let group: string
  let space: string

  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'freehold-tenants-'))
    admin = await administrator()
    boundaryId = (await makeBoundary()).id
    foreignId = (await makeBoundary()).id
    group = (await makeGroup(boundaryId)).name
    space = groupNamespace(boundaryId, group)
    const client = await clientWithToken((await makeCaller()).token)
    // The API server asks for the issuer's keys every ten seconds until it is there.
    await until('the API server takes tokens', async () => (await client.request({ path: '/api' })).status === 200)
    await client.close()
  })
  after(async () => {
    await admin.close()
    await rm(folder, { recursive: true, force: true })
  })

  /** kubectl with nothing but the token of one caller. */
  async function kubectlOf({ principalId, token }: TestCaller): Promise<Kubectl> {
    const kubeconfig = join(folder, principalId)
    await writeFile(kubeconfig, kubeconfigWithToken(token))
    return (words, input) => ranKubectl(words.split(' '), { kubeconfig, ...(input && { input }) })
  }
  const groupScope = () => `/boundaries/${boundaryId}/resourcegroups/${group}`
  const database = (name: string, spec: object = {}) => ({
    apiVersion: VectorCluster.apiVersion,
    kind: VectorCluster.kind,
    metadata: { name, namespace: space },
    spec: { replicas: 0, ...spec },
  })
  const makeDatabase = (name: string) => admin.create(VectorCluster.resource, database(name) as never)

  for (const role of ['Owner', 'Reader'])
    it(`lets ${role}s list everything in the namespaces of a boundary and a group`, async () => {
      const kubectl = await kubectlOf(await makeCaller({ [role]: `/boundaries/${boundaryId}` }))
      await makeDatabase(uniqueName('db'))
      for (const namespace of [space, boundaryNamespace(boundaryId)]) {
        const { code, stdout, stderr } = await kubectl(`get freehold -n ${namespace} -o name`)
        expect([code, stderr], namespace).to.deep.equal([0, ''])
        expect(stdout).to.match(namespace === space ? /^vectorcluster/m : /^resourcegroup/m)
      }
      const ofGroup = await kubectlOf(await makeCaller({ [role]: groupScope() }))
      expect(await ofGroup(`get freehold -n ${space} -o name`)).to.include({ code: 0, stderr: '' })
    })

  it('lets a Reader of a group list databases, pods and events, and write nothing', async () => {
    const name = uniqueName('db')
    await makeDatabase(name)
    const kubectl = await kubectlOf(await makeCaller({ Reader: groupScope() }))
    expect((await kubectl(`get vectorclusters -n ${space}`)).stdout).to.include(name)
    expect(await kubectl(`get pods,services,events -n ${space}`)).to.include({ code: 0 })
    const refused = await kubectl('create -f -', database(uniqueName('db')))
    expect(refused.code).to.equal(1)
    expect(refused.stderr).to.include(`The permission vectorcluster/write is missing at ${groupScope()}.`)
    expect((await kubectl(`delete vectorcluster ${name} -n ${space}`)).stderr).to.include('Forbidden')
    expect((await kubectl(`scale vectorcluster ${name} --replicas=3 -n ${space}`)).stderr).to.include('Forbidden')
    expect((await kubectl(`get secrets -n ${space}`)).stderr).to.include('Forbidden')
  })

  it('lets a Contributor of a group create, label, scale and delete a database, but run no pods', async () => {
    const name = uniqueName('db')
    const kubectl = await kubectlOf(await makeCaller({ Contributor: groupScope() }))
    expect(await kubectl('create -f -', database(name))).to.include({ code: 0 })
    expect(await kubectl(`label vectorcluster ${name} colour=red -n ${space}`)).to.include({ code: 0 })
    expect(await kubectl(`scale vectorcluster ${name} --replicas=1 -n ${space}`)).to.include({ code: 0 })
    expect(await kubectl(`delete vectorcluster ${name} --wait=false -n ${space}`)).to.include({ code: 0 })
    expect((await kubectl(`run mine --image=nothing -n ${space}`)).stderr).to.include('Forbidden')
  })

  it('refuses reads by the Owner of another boundary with the same message as in a missing namespace', async () => {
    const kubectl = await kubectlOf(await makeCaller({ Owner: `/boundaries/${foreignId}` }))
    expect(await kubectl(`get resourcegroups -n ${boundaryNamespace(foreignId)}`)).to.include({ code: 0 })
    expect(await kubectl(`get boundary ${foreignId}`)).to.include({ code: 0 })
    for (const asked of [
      `get vectorclusters -n ${space}`,
      `get resourcegroups -n ${boundaryNamespace(boundaryId)}`,
      `get boundary ${boundaryId}`,
      `get pods -n ${space}`,
    ]) {
      expect((await kubectl(asked)).stderr, asked).to.include('Forbidden')
    }
    const words = async (namespace: string) => (await kubectl(`get vectorclusters -n ${namespace}`)).stderr
    const nowhere = 'orders-0123456789'
    expect(await words(space)).to.equal((await words(nowhere)).replaceAll(nowhere, space))
  })

  it('refuses lists across namespaces, and names the REST interface', async () => {
    const kubectl = await kubectlOf(await makeCaller({ Owner: `/boundaries/${boundaryId}` }))
    const refusals = {
      'get vectorclusters -A': 'exist in the REST interface only; name a namespace with -n',
      'get boundaries': 'are listed by the REST interface only; name one by its id',
    }
    for (const [asked, words] of Object.entries(refusals))
      expect((await kubectl(asked)).stderr, asked).to.include(words)
    expect(await kubectl('get computeplans')).to.include({ code: 0 })
  })

  it('refuses the request after the removal of an assignment', async () => {
    const caller = await makeCaller({ Reader: `/boundaries/${boundaryId}` })
    const kubectl = await kubectlOf(caller)
    expect(await kubectl(`get resourcegroups -n ${boundaryNamespace(boundaryId)}`)).to.include({ code: 0 })
    const namespace = boundaryNamespace(boundaryId)
    const fieldSelector = `spec.principalId=${caller.principalId}`
    const { items } = await admin.list(RoleAssignment.resource, { namespace, fieldSelector })
    for (const { metadata } of items) await admin.remove(RoleAssignment.resource, { namespace, name: metadata.name })
    // What REST applies at once, kubectl applies with the next request.
    await until('REST refuses the caller', async () => {
      return (await call('GET', `/boundaries/${boundaryId}`, undefined, { token: caller.token })).status === 403
    })
    expect((await kubectl(`get resourcegroups -n ${namespace}`)).stderr).to.include('Forbidden')
  })

  it('lets only holders of the permission of REST change a protected field', async () => {
    const name = uniqueName('db')
    await makeDatabase(name)
    const rotation = `patch vectorcluster ${name} -n ${space} --type=merge -p {"spec":{"apiKeyVersion":2}}`
    const writer = await kubectlOf(await makeCaller({ 'Platform Owner': `/boundaries/${boundaryId}` }))
    expect((await writer(rotation)).stderr).to.include('is written by a holder of the verb writesecrets only')
    const owner = await kubectlOf(await makeCaller({ Owner: groupScope() }))
    expect(await owner(rotation)).to.include({ code: 0 })
  })

  it('lets the Owner of a boundary change its name, but not its quota', async () => {
    const kubectl = await kubectlOf(await makeCaller({ Owner: `/boundaries/${boundaryId}` }))
    const patch = (spec: object) => kubectl(`patch boundary ${boundaryId} --type=merge -p ${JSON.stringify({ spec })}`)
    expect((await patch({ quota: { cpu: '1000' } })).stderr).to.include('by an administrator of the cluster only')
    expect(await patch({ displayName: 'Renamed' })).to.include({ code: 0 })
    const { spec } = (await admin.get(Boundary.resource, { name: boundaryId })) as Boundary
    expect(spec).to.include({ displayName: 'Renamed' })
  })

  it('lets the Owner of a boundary set the quota of a group, but not the Owner of the group, like REST', async () => {
    const [ofGroup, ofBoundary] = [
      await makeCaller({ Owner: groupScope() }),
      await makeCaller({ Owner: `/boundaries/${boundaryId}` }),
    ]
    const path = `/boundaries/${boundaryId}/resourcegroups/${group}`
    const patch = async (caller: TestCaller, pods: number) => {
      const kubectl = await kubectlOf(caller)
      const words = `patch resourcegroup ${group} -n ${boundaryNamespace(boundaryId)} --type=merge`
      const { code, stderr } = await kubectl(`${words} -p ${JSON.stringify({ spec: { quota: { pods } } })}`)
      const { status } = await call('PATCH', path, { quota: { pods } }, { token: caller.token })
      return { code, stderr, status }
    }
    const refused = await patch(ofGroup, 100)
    expect(refused).to.include({ code: 1, status: 403 })
    expect(refused.stderr).to.include(
      'the quota of a ResourceGroup is written by those who may manage its boundary only',
    )
    expect(await patch(ofBoundary, 101)).to.include({ code: 0, status: 200 })
    expect(await patch(ofGroup, 101), 'what does not change').to.include({ code: 0 })
    await expectCall(200, 'PATCH', path, { quota: null })
  })

  it('keeps the finalizer of a database against callers who may write the database', async () => {
    const name = uniqueName('db')
    await makeDatabase(name)
    await until('the finalizer is on', async () => {
      const { metadata } = await admin.get(VectorCluster.resource, { namespace: space, name })
      return (metadata.finalizers ?? []).length > 0
    })
    const kubectl = await kubectlOf(await makeCaller({ Owner: groupScope() }))
    const stripped = await kubectl(
      `patch vectorcluster ${name} -n ${space} --type=merge -p {"metadata":{"finalizers":null}}`,
    )
    expect(stripped.stderr).to.include('finalizers that begin with freehold.dev/')
  })

  describe('questions about access', () => {
    const QUESTIONS = TEST_CONFIG.sized(500, 2_000)
    const AT_ONCE = 12
    const CHECKS_AT_ONCE = 100

    type Asked = { caller: TestCaller; roles: string; question: AccessQuestion }

    async function askKubernetes(client: KubeClient, { attributes }: AccessQuestion): Promise<boolean> {
      const body = { apiVersion: 'authorization.k8s.io/v1', kind: 'SelfSubjectAccessReview' }
      type Review = { status: { allowed: boolean; evaluationError?: string } }
      const ask = async () => {
        const answer = await client.request({
          method: 'POST',
          path: '/apis/authorization.k8s.io/v1/selfsubjectaccessreviews',
          headers: { 'content-type': 'application/json' },
          body: JSON.stringify({ ...body, spec: { resourceAttributes: attributes } }),
        })
        return (JSON.parse(await answer.text()) as Review).status
      }
      return (await patiently(ask, ({ evaluationError = '' }) => pauseAfterWords(evaluationError))).allowed
    }

    /** A boundary that the caller may not see is 404: nothing is allowed in it. */
    async function askRest(token: string, boundary: string, questions: readonly AccessQuestion[]): Promise<boolean[]> {
      const path = `/boundaries/${boundary}/providers/authorization/checkAccess`
      const checks = questions.map(({ action, scope }) => ({ action, scope }))
      const { status, body } = await call<{ results: { allowed: boolean }[] }>('POST', path, { checks }, { token })
      if (status === 404) return questions.map(() => false)
      expect(status).to.equal(200)
      return body.results.map(({ allowed }) => allowed)
    }

    async function inParallel<T>(list: readonly T[], work: (item: T) => Promise<void>): Promise<void> {
      const waiting = [...list]
      const worker = async () => {
        for (let item = waiting.shift(); item !== undefined; item = waiting.shift()) await work(item)
      }
      await Promise.all(Array.from({ length: AT_ONCE }, worker))
    }

    it(`get the same ${QUESTIONS} answers from the API server and from REST`, async () => {
      const random = new SeededRandom(20_261_121)
      const second = (await makeGroup(boundaryId)).name
      const third = (await makeGroup(foreignId)).name
      const databases = ['orders', 'orders-2']
      // A role at a missing object would have no effect.
      for (const name of databases) {
        const path = `/boundaries/${boundaryId}/resourcegroups/${group}/resources/vectorclusters/${name}`
        await expectCall(201, 'POST', path, {})
      }
      const [home, foreign, own] = [`/boundaries/${boundaryId}`, `/boundaries/${foreignId}`, groupScope()]
      const askable = [
        ...questionsAbout(
          boundaryId,
          [group, second].map((name) => ({ name, databases })),
        ),
        ...questionsAbout(foreignId, [{ name: third, databases }]),
      ]
      const roles: Record<string, string>[] = [
        {},
        { Reader: home },
        { Contributor: home },
        { Owner: home },
        { Deployer: home },
        { 'Platform Owner': home },
        { Owner: foreign },
        { Reader: own },
        { Contributor: own },
        { Owner: own, Reader: foreign },
        { Reader: `${own}/resources/vectorclusters/orders` },
        { Contributor: `${own}/resources/vectorclusters/orders`, Reader: own },
        {
          Owner: `${own}/resources/vectorclusters/orders-2`,
          Contributor: `/boundaries/${boundaryId}/resourcegroups/${second}`,
        },
        { 'Secrets Reader': home },
        { 'Platform Reader': '/' },
        { 'Platform Contributor': '/', Reader: own },
      ]
      const callers: { caller: TestCaller; roles: string }[] = []
      await inParallel(roles, async (given) => {
        callers.push({ caller: await makeCaller(given), roles: JSON.stringify(given) })
      })
      callers.sort((a, b) => a.roles.localeCompare(b.roles))
      const asked: Asked[] = Array.from({ length: QUESTIONS }, () => ({
        ...random.pick(callers),
        question: random.pick(askable),
      }))

      const rest = new Map<Asked, boolean>()
      const kubernetes = new Map<Asked, boolean>()
      for (const { caller } of callers) {
        const mine = asked.filter((one) => one.caller === caller)
        const client = await clientWithToken(caller.token)
        try {
          await inParallel(mine, async (one) => void kubernetes.set(one, await askKubernetes(client, one.question)))
        } finally {
          await client.close()
        }
        for (const boundary of [boundaryId, foreignId]) {
          const here = mine.filter(({ question }) => question.boundaryId === boundary)
          for (let start = 0; start < here.length; start += CHECKS_AT_ONCE) {
            const some = here.slice(start, start + CHECKS_AT_ONCE)
            const answers = await askRest(
              caller.token,
              boundary,
              some.map(({ question }) => question),
            )
            for (const [index, one] of some.entries()) rest.set(one, answers[index] === true)
          }
        }
      }

      const differing = asked
        .filter((one) => rest.get(one) !== kubernetes.get(one))
        .map((one) => `${one.roles} ${JSON.stringify(one.question)}: REST ${rest.get(one)}`)
      expect(differing.slice(0, 20)).to.deep.equal([])
      expect([rest.size, kubernetes.size]).to.deep.equal([QUESTIONS, QUESTIONS])
      // If all answers were the same, agreement would prove nothing.
      expect([...rest.values()].filter(Boolean).length).to.be.within(QUESTIONS / 5, (QUESTIONS * 4) / 5)
    })

    it('are answered by kubectl auth can-i', async () => {
      const asked = `auth can-i list vectorclusters.data.freehold.dev -n ${space}`
      const reader = await kubectlOf(await makeCaller({ Reader: groupScope() }))
      expect((await reader(asked)).stdout).to.equal('yes\n')
      const stranger = await kubectlOf(await makeCaller())
      expect((await stranger(asked)).stdout).to.match(/^no\b/)
    })
  })
})
