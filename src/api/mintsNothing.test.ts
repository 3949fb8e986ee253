import { expect } from 'chai'
import { makeRegistry } from '../../test/make/registry.ts'
import { beginDeletion } from '../../test/worlds/deleting.ts'
import { BOUNDARY, OWNER, startShop } from '../../test/worlds/shop.ts'
import { boundaryNamespace, groupNamespace } from '../core/names.ts'
import { Boundary } from '../crds/boundaries.ts'
import { BoundaryCrosslink } from '../crds/crosslink.ts'
import type { AnyKind } from '../crds/define.ts'
import { PlatformJob } from '../crds/jobs.ts'
import { ResourceGroup } from '../crds/resourcegroups.ts'
import { DeploymentSource } from '../crds/sources.ts'

const HERE = `/boundaries/${BOUNDARY}`
const [HOME, SHOP] = [boundaryNamespace(BOUNDARY), groupNamespace(BOUNDARY, 'shop')]
const [GIT, IMAGES] = ['66666666-6666-4666-8666-666666666666', '77777777-7777-4777-8777-777777777777']
const BUILD = { boundary: BOUNDARY, resourceGroup: 'shop', kind: 'jobs', name: 'report' }
const MINT = '/v1/internal/registries/mint'
const REPOSITORY = `repository:${BOUNDARY}/shop/jobs/report`

/** The object that is being deleted. */
const PLACES: Record<string, [kind: AnyKind, ref: { namespace?: string; name: string }]> = {
  boundary: [Boundary, { name: BOUNDARY }],
  group: [ResourceGroup, { namespace: HOME, name: 'shop' }],
  job: [PlatformJob, { namespace: SHOP, name: 'report' }],
  'Git source': [DeploymentSource, { namespace: HOME, name: GIT }],
  'registry source': [DeploymentSource, { namespace: HOME, name: IMAGES }],
}

/** Routes that issue credentials or register webhooks, and the objects whose deletion forbids that. */
const ROUTES: [path: string, body: object | undefined, places: string[]][] = [
  [`${MINT}-boundary-credential`, { boundary: BOUNDARY }, ['boundary']],
  [`${MINT}-build-token`, BUILD, ['boundary', 'group', 'job']],
  [`${HERE}/sources/gitlab/installations/${GIT}/token/1`, {}, ['boundary', 'Git source']],
  [`${HERE}/sources/gitlab/installations/${GIT}/repositories/1/webhooks/ensure`, {}, ['boundary', 'Git source']],
  [
    `${HERE}/sources/registry/${IMAGES}/materialize`,
    { resourceGroup: 'shop' },
    ['boundary', 'group', 'registry source'],
  ],
  [
    `${HERE}/sources/registry/${IMAGES}/materialize`,
    { resourceGroup: 'shop', resourceName: 'report' },
    ['boundary', 'group', 'job', 'registry source'],
  ],
  [`${HERE}/crosslink/access-grant`, undefined, ['boundary']],
]

const shownPath = (path: string) => path.replace(HERE, '{B}').replace(GIT, '{sourceId}').replace(IMAGES, '{sourceId}')

describe('issuing credentials during a deletion', () => {
  async function open() {
    const server = await startShop({}, { registry: makeRegistry().service })
    server.put(PlatformJob, 'report', { image: 'python', computePlan: 'job-small' }, SHOP)
    server.put(BoundaryCrosslink, 'crosslink', { enabled: true }, HOME)
    const credentials = { secretName: 'robot' }
    const git = { provider: 'GitLab', displayName: 'Git', baseUrl: 'https://git.test', credentials }
    server.put(DeploymentSource, GIT, git, HOME)
    const images = { provider: 'Registry', displayName: 'Images', baseUrl: 'https://registry.test', username: 'robot' }
    server.put(DeploymentSource, IMAGES, { ...images, credentials }, HOME)
    return server
  }

  for (const [path, body, places] of ROUTES)
    for (const place of places)
      it(`returns 409 while the ${place} is deleted: POST ${shownPath(path)} ${JSON.stringify(body) ?? ''}`, async () => {
        const server = await open()
        try {
          const [kind, ref] = PLACES[place] ?? []
          if (kind === undefined || ref === undefined) throw new RangeError(place)
          beginDeletion(server, kind.resource, ref)
          const answer = await server.ask('post', path).send(body)
          expect(answer.status, JSON.stringify(answer.body)).to.equal(409)
          expect(answer.body.code).to.match(/^invalid.state$/i)
          expect(answer.body.error ?? answer.body.detail).to.match(/ is being deleted\.$/)
        } finally {
          await server.stop()
        }
      })

  for (const place of ['boundary', 'group'])
    it(`grants pull but not push while the ${place} is deleted`, async () => {
      const server = await open()
      const ask = async () => {
        const basic = `Basic ${Buffer.from(`token:${OWNER}`).toString('base64')}`
        const call = server.ask('get', `/registry/auth/token?scope=${REPOSITORY}:pull,push`)
        return (await call.set('authorization', basic)).body.scope
      }
      try {
        expect(await ask()).to.equal(`${REPOSITORY}:pull,push`)
        const [kind, ref] = PLACES[place] ?? []
        if (kind === undefined || ref === undefined) throw new RangeError(place)
        beginDeletion(server, kind.resource, ref)
        expect(await ask()).to.equal(`${REPOSITORY}:pull`)
      } finally {
        await server.stop()
      }
    })
})
