import { expect } from 'chai'
import { BOUNDARY as B, OWNER, startShop } from '../../../test/worlds/shop.ts'
import type { VolumeFiles } from '../../adapters/volumefiles/port.ts'
import { COMPONENT_LABEL, REVISION_LABEL } from '../../contracts/containerinstances.ts'
import { PlatformError } from '../../core/errors.ts'
import { groupNamespace } from '../../core/names.ts'
import type { KubeObject } from '../../core/object.ts'
import { APP_COMPONENT, PlatformApp } from '../../crds/apps.ts'
import { ContainerInstance } from '../../crds/containerinstances.ts'
import { SERVED_ROUTES } from '../index.ts'
import type { LiveState } from './liveState.ts'

const CAROL = '33333333-3333-4333-8333-333333333333'
const SHOP = groupNamespace(B, 'shop')
const GROUP = `/boundaries/${B}/resourcegroups/shop`
const SAFE = `${GROUP}/resources/secretvaults/safe`

type Env = { name: string; secret?: object; value?: string }[]
const TOKEN: Env = [{ name: 'TOKEN', secret: { vaultName: 'safe', secretName: 'Token' } }]
const IMAGE = 'docker.io/library/php:8.4'

/** Kinds with files, and specs with these variables; a ContainerInstance has them in the container beside the files. */
const WITH_FILES = [
  {
    kind: ContainerInstance,
    component: 'web',
    spec: (env: Env, more: object = {}) => ({
      components: [
        { name: 'web', image: IMAGE, mounts: [{ volume: 'data', path: '/data' }] },
        { name: 'worker', image: IMAGE, env, mounts: [{ volume: 'data', path: '/data', readOnly: true }] },
      ],
      volumes: [{ name: 'data', kind: 'Persistent', size: '1Gi' }],
      ...more,
    }),
  },
  {
    kind: PlatformApp,
    component: APP_COMPONENT,
    spec: (env: Env, more: object = {}) => ({
      sourceKind: 'Image',
      image: IMAGE,
      env,
      volumes: [{ name: 'data', kind: 'Persistent', size: '1Gi', mountPath: '/data' }],
      ...more,
    }),
  },
]

const FILE_ROUTES = SERVED_ROUTES.filter(({ path }) => /\/files(\/[a-z]+)?$/.test(path))

function requestOf(path: string, component: string): { query: string; body?: object } {
  if (path.endsWith('/directory')) return { query: '', body: { component, path: '/data/a' } }
  if (path.endsWith('/move')) return { query: '', body: { component, from: '/data/a', to: '/data/b' } }
  if (path.endsWith('/upload')) return { query: `?component=${component}&path=/data&name=index.php` }
  return { query: `?component=${component}&path=/data` }
}

describe('writing a file of a volume', () => {
  let shop: Awaited<ReturnType<typeof startShop>>
  let pods: KubeObject[]
  let revisions: { number: number; content: object }[]
  before(async () => {
    const live = { pods: async () => pods, revisions: async () => revisions } as unknown as LiveState
    // INSTANCE_STOPPED shows that the request passed the permission checks.
    const volumeFiles: VolumeFiles = {
      ask: () => Promise.reject(new PlatformError('INSTANCE_STOPPED', 'There are no volumes here.')),
    }
    shop = await startShop({}, { live, volumeFiles })
    shop.grant(CAROL, 'Contributor', GROUP)
  })
  beforeEach(() => {
    pods = []
    revisions = []
  })
  after(() => shop.stop())

  const answers = async ({ kind, component }: (typeof WITH_FILES)[number], as: string, isWriting = true) => {
    const routes = FILE_ROUTES.filter(
      ({ method, path }) => path.includes(`/${kind.segment}/`) && (method !== 'GET') === isWriting,
    )
    expect(routes).to.have.length(isWriting ? 4 : 3)
    const all = routes.map(async ({ method, path }) => {
      const { query, body } = requestOf(path, component)
      const rest = path.slice(path.indexOf('/files'))
      const call = shop.ask(
        method.toLowerCase() as 'post',
        `${GROUP}/resources/${kind.segment}/site${rest}${query}`,
        as,
      )
      const { body: answer } = await (body === undefined ? call : call.send(body))
      return answer.code as string
    })
    return [...new Set(await Promise.all(all))]
  }

  for (const one of WITH_FILES) {
    const { kind, component, spec } = one
    const { segment } = kind
    const put = (env: Env, more: object = {}) => {
      shop.put(kind, 'site', spec(env, more), SHOP)
      const stored = shop.caches.get(kind.resource).get(SHOP, 'site') as KubeObject
      shop.caches.get(kind.resource).observeWrite({ ...stored, status: { revision: 1, firstReadyAt: 'x' } } as never)
    }

    it(`requires readSecrets at the vault of a variable: ${segment}`, async () => {
      put(TOKEN)
      expect(await answers(one, CAROL)).to.deep.equal(['FORBIDDEN'])
      expect(await answers(one, CAROL, false), 'reading').to.deep.equal(['INSTANCE_STOPPED'])
      expect(await answers(one, OWNER), 'an Owner').to.deep.equal(['INSTANCE_STOPPED'])
    })

    it(`requires the permission for the managed identity: ${segment}`, async () => {
      put([], { managedIdentity: true })
      expect(await answers(one, CAROL)).to.deep.equal(['FORBIDDEN'])
    })

    it(`requires no further permission without references: ${segment}`, async () => {
      put([{ name: 'A', value: 'b' }])
      expect(await answers(one, CAROL)).to.deep.equal(['INSTANCE_STOPPED'])
    })

    it(`requires the permissions for references of pods of an earlier revision while they run: ${segment}`, async () => {
      put([])
      const labels = { [COMPONENT_LABEL]: component, [REVISION_LABEL]: '1' }
      const containers = [{ env: [{ valueFrom: { secretKeyRef: { name: 'values', key: 'TOKEN' } } }] }]
      const copy = { apiVersion: 'v1', kind: 'Pod', metadata: { name: 'copy', labels }, spec: { containers } }
      const content = kind === PlatformApp ? spec(TOKEN) : { components: [{ name: component, env: TOKEN }] }
      revisions = [{ number: 1, content }]
      pods = [copy as KubeObject]
      expect(await answers(one, CAROL)).to.deep.equal(['FORBIDDEN'])
      pods = [{ ...copy, status: { phase: 'Succeeded' } } as KubeObject]
      expect(await answers(one, CAROL)).to.deep.equal(['INSTANCE_STOPPED'])
    })
  }

  it('names the missing action and its scope', async () => {
    const { spec, component } = WITH_FILES[0] as (typeof WITH_FILES)[number]
    shop.put(ContainerInstance, 'site', spec(TOKEN), SHOP)
    const path = `${GROUP}/resources/containerinstances/site/files/directory`
    const { status, body } = await shop.ask('post', path, CAROL).send({ component, path: '/data/a' })
    expect([status, body.action, body.scope]).to.deep.equal([403, 'secretvault/readSecrets', SAFE])
  })
})
