import { X509Certificate } from 'node:crypto'
import { CROSSLINK_CA_SECRET, CROSSLINK_GRANTS_SECRET } from '../../../src/contracts/crosslink.ts'
import type { KubeObject, Resource } from '../../../src/core/object.ts'
import { BoundaryCrosslink } from '../../../src/crds/crosslink.ts'
import { SKUPPER_CA_SECRET } from '../../../src/desired/crosslink.ts'
import { SKUPPER_RESOURCES, skupperAccessGrant, skupperSite } from '../../../src/kube/skupper.ts'
import type { Flow, Step } from '../flow.ts'
import { OUTER, seedTypes } from '../seeds.ts'
import type { World } from '../world.ts'

const NAME = 'crosslink'
const HERE = '22222222-2222-4222-8222-222222222222'

type Links = KubeObject & BoundaryCrosslink

const statusOf = async (world: World) => (await world.find<Links>(BoundaryCrosslink.resource, NAME, OUTER))?.status

/** Skupper's status of its objects, whenever it gets to them. */
async function skupper({ server }: World): Promise<void> {
  const statuses: [Resource, object][] = [
    [
      skupperSite,
      { conditions: [{ type: 'Ready', status: 'True' }], endpoints: [{ host: 'hub.test', port: '45671' }] },
    ],
    [skupperAccessGrant, { url: 'https://hub.test/grant', code: 'open-sesame', ca: 'PEM' }],
  ]
  for (const [resource, status] of statuses)
    for (const { metadata } of (await server.list(resource)).items)
      await server.mergePatch(resource, metadata, { status }, { subresource: 'status' })
}

const link: Step = {
  user: 'links the clusters through a hub on the cluster of the platform',
  act: (world) => world.make(BoundaryCrosslink, NAME, { enabled: true, hubClusterId: HERE }, OUTER),
  until: async (world) => {
    await skupper(world)
    return world.isReady(BoundaryCrosslink, NAME, OUTER)
  },
}

/** Which authority signs, what the hub received, and which authorities are still trusted. */
async function facts(world: World) {
  const textsOf = async (name: string): Promise<Record<string, string>> => {
    const entries = Object.entries((await world.secret(name, OUTER)) ?? {})
    return Object.fromEntries(entries.map(([key, value]) => [key, Buffer.from(value, 'base64').toString()]))
  }
  const kept = await textsOf(CROSSLINK_CA_SECRET)
  const given = await textsOf(SKUPPER_CA_SECRET)
  const { certPem, alsoTrusted, version } = JSON.parse(kept.authority ?? '{}')
  const name = certPem && new X509Certificate(certPem).subject
  const isGiven = given['tls.crt'] === certPem && given['ca.crt'] === `${certPem}${alsoTrusted ?? ''}`
  const grants = await textsOf(CROSSLINK_GRANTS_SECRET)
  return {
    version,
    name,
    isGiven,
    isAlone: alsoTrusted === undefined,
    grants: JSON.parse(grants.issued ?? '[]').length,
  }
}

const given: readonly Step[] = [{ user: 'installs Skupper', act: ({ server }) => seedTypes(server, SKUPPER_RESOURCES) }]

/** What owners of a boundary do with its links. */
export const crosslinkFlows: readonly Flow[] = [
  {
    title: 'clusters are linked, and their certificate authority is replaced in three steps',
    controllers: ['boundarycrosslink'],
    facts,
    given,
    steps: [
      link,
      {
        user: 'replaces the authority',
        act: (world) => world.change(BoundaryCrosslink, NAME, { pkiVersion: 2 }, OUTER),
        until: async (world) => {
          const { ca, rotation } = (await statusOf(world)) ?? {}
          return ca?.version === 2 && rotation === undefined
        },
      },
    ],
  },
  {
    title: 'a grant is created for a spoke, and the links are disabled',
    controllers: ['boundarycrosslink'],
    facts,
    given: [...given, link],
    steps: [
      {
        user: 'asks for a grant',
        act: (world) => {
          const grantRequestedAt = new Date(world.clock.now()).toISOString()
          return world.change(BoundaryCrosslink, NAME, { grantRequestedAt }, OUTER)
        },
        until: async (world) => {
          await skupper(world)
          return (await statusOf(world))?.grantIssuedFor !== undefined
        },
      },
      {
        user: 'ends the links',
        act: (world) => world.change(BoundaryCrosslink, NAME, { enabled: false }, OUTER),
        until: async (world) => (await statusOf(world))?.phase === 'Stopped',
      },
    ],
  },
]
