import { expect } from 'chai'
import { BUILD_NAMESPACE } from '../../src/contracts/builds/progress.ts'
import { BOUNDARY_LABEL, OWNER_KIND_LABEL } from '../../src/core/labels.ts'
import { boundaryNamespace, groupNamespace, SYSTEM_NAMESPACE } from '../../src/core/names.ts'
import { kubectl, ranKubectl } from '../worlds/kubectl.ts'
import { makeBoundary, makeGroup, uniqueName } from '../worlds/platform.ts'

const CONTROLLERS = `system:serviceaccount:${SYSTEM_NAMESPACE}:freehold-controllers`
const FACADE = `system:serviceaccount:${SYSTEM_NAMESPACE}:freehold-facade`
/** The account that creates the pods of Jobs. */
const JOBS = 'system:serviceaccount:kube-system:job-controller'
const LEVEL = 'pod-security.kubernetes.io/enforce'

/** The API server's answer to an account's request, as a dry run. */
async function answer(account: string, words: readonly string[], input?: object): Promise<string> {
  const dry = ['--dry-run=server', `--as=${account}`]
  const { code, stdout, stderr } = await ranKubectl([...words, ...dry], input === undefined ? {} : { input })
  return code === 0 ? 'admitted' : stderr || stdout
}
const create = (account: string, object: object) => answer(account, ['create', '-f', '-'], object)

describe('the service accounts of the controllers and of the facade', () => {
  let boundaryId: string
  let group: string
  before(async () => {
    boundaryId = (await makeBoundary()).id
    await makeGroup(boundaryId, 'shop')
    group = groupNamespace(boundaryId, 'shop')
  })

  for (const account of [CONTROLLERS, FACADE]) {
    const who = account === FACADE ? 'the facade' : 'the controllers'

    it(`may create only namespaces under Pod Security level restricted: ${who}`, async () => {
      const space = (labels: object) => ({
        apiVersion: 'v1',
        kind: 'Namespace',
        metadata: { name: 'stolen', labels: { [BOUNDARY_LABEL]: boundaryId, ...labels } },
      })
      for (const labels of [{}, { [LEVEL]: 'privileged' }, { [LEVEL]: 'baseline' }])
        expect(await create(account, space(labels)), JSON.stringify(labels)).to.contain('Pod Security level restricted')
      expect(await create(account, space({ [LEVEL]: 'restricted', [`${LEVEL}-version`]: 'latest' }))).to.equal(
        'admitted',
      )
    })

    it(`may not lower the Pod Security level of a namespace: ${who}`, async () => {
      for (const name of [group, boundaryNamespace(boundaryId)])
        for (const words of [`${LEVEL}=privileged`, `${LEVEL}-`]) {
          const [key = '', value] = words.endsWith('-') ? [words.slice(0, -1), null] : words.split('=')
          const patch = JSON.stringify({ metadata: { labels: { [key]: value } } })
          const outcome = await answer(account, ['patch', 'namespace', name, '--type=merge', '-p', patch])
          expect(outcome, `${name} ${words}`).to.contain('Pod Security level restricted')
        }
      expect(await answer(account, ['patch', 'namespace', group, '--type=merge', '-p', '{}'])).to.equal('admitted')
    })

    it(`may not create a Secret with the token of another account: ${who}`, async () => {
      for (const namespace of [SYSTEM_NAMESPACE, group]) {
        const metadata = {
          name: 'platform-backup-target-a',
          namespace,
          labels: { [OWNER_KIND_LABEL]: 'ManagedIdentity' },
          annotations: { 'kubernetes.io/service-account.name': 'default' },
        }
        const secret = { apiVersion: 'v1', kind: 'Secret', type: 'kubernetes.io/service-account-token', metadata }
        expect(await create(account, secret), namespace).to.contain('tokens of service accounts')
      }
    })
  }

  const pod = (spec: object, container: object = {}) => ({
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: 'stolen', namespace: BUILD_NAMESPACE },
    spec: {
      restartPolicy: 'Never',
      automountServiceAccountToken: false,
      containers: [{ name: 'main', image: 'example.com/none', ...container }],
      ...spec,
    },
  })
  const reaching: [what: string, spec: object, container?: object][] = [
    ['a directory of the node', { volumes: [{ name: 'node', hostPath: { path: '/' } }] }],
    ['the processes of the node', { hostPID: true }],
    ['the network of the node', { hostNetwork: true }],
    ['the IPC of the node', { hostIPC: true }],
    ['everything (privileged)', {}, { securityContext: { privileged: true } }],
    [
      'everything (privileged init container)',
      { initContainers: [{ name: 'first', image: 'x', securityContext: { privileged: true } }] },
    ],
    ['more capabilities', {}, { securityContext: { capabilities: { add: ['SYS_ADMIN'] } } }],
    ['a port of the node', {}, { ports: [{ containerPort: 80, hostPort: 80 }] }],
  ]
  for (const [what, spec, container] of reaching)
    it(`run no build with access to ${what}`, async () => {
      expect(await create(JOBS, pod(spec, container))).to.contain('a build does not reach its node')
    })

  it('run builds with the capabilities that these need', async () => {
    const security = { allowPrivilegeEscalation: true, capabilities: { drop: ['ALL'], add: ['SETUID', 'SETGID'] } }
    expect(await create(JOBS, pod({}, { securityContext: security }))).to.equal('admitted')
  })

  it('create databases only in namespaces of groups, and change only WAL archiving of others', async () => {
    const cluster = (namespace: string) => ({
      apiVersion: 'postgresql.cnpg.io/v1',
      kind: 'Cluster',
      metadata: { name: 'stolen', namespace },
      spec: { instances: 1, storage: { size: '1Gi' } },
    })
    expect(await create(CONTROLLERS, cluster('kube-system'))).to.contain('only in namespaces that carry the label')
    expect(await create(CONTROLLERS, cluster(group))).to.equal('admitted')
    const foreign = uniqueName('theirs')
    await kubectl(['create', '-f', '-'], {
      input: { ...cluster('default'), metadata: { name: foreign, namespace: 'default' } },
    })
    const patched = (patch: object) =>
      answer(CONTROLLERS, [
        'patch',
        'clusters.postgresql.cnpg.io',
        foreign,
        '-n',
        'default',
        '--type=merge',
        '-p',
        JSON.stringify(patch),
      ])
    expect(await patched({ metadata: { annotations: { 'cnpg.io/skipWalArchiving': 'enabled' } } })).to.equal('admitted')
    expect(await patched({ spec: { instances: 2 } })).to.contain('only in namespaces that carry the label')
    await kubectl(['delete', 'clusters.postgresql.cnpg.io', foreign, '-n', 'default'])
    const backup = { apiVersion: 'postgresql.cnpg.io/v1', kind: 'Backup', spec: { cluster: { name: 'theirs' } } }
    const metadata = { name: 'stolen', namespace: 'default' }
    expect(await create(CONTROLLERS, { ...backup, metadata })).to.equal('admitted')
  })
})
