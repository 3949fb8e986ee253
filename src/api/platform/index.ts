import { z } from 'zod'
import { timestamp } from '../../core/clock.ts'
import { notFound } from '../../core/errors.ts'
import { ok } from '../http/answer.ts'
import type { Context } from '../http/context.ts'
import type { ReadinessCheck } from '../http/management.ts'
import { namedRecord } from '../http/namedRecord.ts'
import { METADATA_PATH } from '../http/protectedResource.ts'
import { anonymous, authenticated, type RouteDraft, route } from '../http/route.ts'
import { DateTime, HealthCheckDto } from '../resources/dto.ts'
import { DocsManifestDto, type Documentation, DocumentedModules } from './documentation.ts'
import { documentAnswer, type EncodedDocument } from './encodedDocument.ts'

/** What the process knows about itself and its cluster. */
export type Platform = {
  readonly version: string
  readonly commit: string
  /** RFC 3339. */
  readonly builtAt: string
  /** Of the API server; empty until it has answered. */
  readonly kubernetesVersion: string
  /** Drivers that are simulated. */
  readonly simulated: readonly string[]
  readonly readiness: readonly ReadinessCheck[]
}

declare module '../http/context.ts' {
  interface Services {
    readonly platform: Platform
    readonly documentation: Documentation
    readonly wholeDocument: () => Promise<EncodedDocument>
  }
}

export const ReadinessDto = namedRecord('ReadinessDto', {
  status: z.enum(['Ready', 'NotReady']),
  checks: z.array(HealthCheckDto),
})

export const VersionDto = namedRecord('VersionDto', {
  module: z.string(),
  version: z.string(),
  commit: z.string(),
  builtAt: DateTime,
  kubernetesVersion: z.string(),
  simulated: z.array(z.string()).describe('Drivers that are simulated'),
})

/** RFC 9728: tells clients that only know the platform's address who issues its tokens. */
export const ProtectedResourceDto = namedRecord('ProtectedResourceDto', {
  resource: z.string().describe('The address of the platform; a client that asked at another does not use this'),
  authorization_servers: z.array(z.string()).describe('The issuer, as OpenID Connect discovery takes it'),
  bearer_methods_supported: z.array(z.literal('header')),
  resource_name: z.string(),
  resource_documentation: z.string(),
})

function protectedResource({ services }: Context) {
  const { address, issuer } = services.protectedResource
  return ok({
    resource: address,
    authorization_servers: [issuer],
    bearer_methods_supported: ['header' as const],
    resource_name: 'Freehold',
    resource_documentation: `${address}/`,
  })
}

function findManifest({ services, parameters }: Context<'module'>) {
  const manifest = services.documentation.manifest(parameters.module)
  if (manifest === undefined) throw notFound(`Module "${parameters.module.slice(0, 64)}"`)
  return ok(manifest)
}

async function findFile(context: Context<'module' | 'path'>) {
  const { services, parameters } = context
  const file = services.documentation.file(parameters.module, parameters.path)
  if (file === undefined) throw notFound('This documentation file')
  return documentAnswer(await services.documentation.encoded(file), context, { 'content-type': file.mediaType })
}

async function sendWholeDocument(context: Context) {
  return documentAnswer(await context.services.wholeDocument(), context, {
    'content-type': 'application/json; charset=utf-8',
    'cache-control': 'public, max-age=300',
  })
}

/** Shows names and states only: the route is public, and messages could reveal internals. */
function readiness({ services }: Context) {
  const observedAt = timestamp(services.clock.now())
  const checks = services.platform.readiness.map(({ name, isReady }) => ({
    name,
    status: isReady() ? ('Healthy' as const) : ('Unhealthy' as const),
    message: null,
    durationMs: null,
    observedAt,
  }))
  const isReady = checks.every(({ status }) => status === 'Healthy')
  return { status: isReady ? 200 : 503, body: { status: isReady ? ('Ready' as const) : ('NotReady' as const), checks } }
}

export const commonRoutes: readonly RouteDraft[] = [
  route('GET', '/docs/{module}/manifest.json', {
    auth: authenticated,
    summary: 'The documentation files of a module',
    reply: DocsManifestDto,
    handler: findManifest,
  }),
  route('GET', '/docs/{module}/{path}', {
    auth: authenticated,
    summary: 'A documentation file',
    replyMediaType: 'text/markdown',
    handler: findFile,
  }),
  route('GET', '/readyz', {
    auth: anonymous,
    summary: 'Whether the platform takes requests; 503 when not',
    reply: ReadinessDto,
    repliesAt: [503],
    handler: readiness,
  }),
  route('GET', '/version', {
    auth: anonymous,
    summary: 'What runs here',
    reply: VersionDto,
    handler: ({ services: { platform } }) => {
      const { version, commit, builtAt, kubernetesVersion, simulated } = platform
      return ok({ module: 'resource-groups', version, commit, builtAt, kubernetesVersion, simulated: [...simulated] })
    },
  }),
  // For newcomers. They need no token, because they contain nothing about tenants.
  route('GET', '/docs', {
    auth: anonymous,
    summary: 'The modules that have documentation',
    reply: DocumentedModules,
    handler: ({ services }) => ok(services.documentation.modules()),
  }),
  route('GET', METADATA_PATH, {
    auth: anonymous,
    summary: 'Where to sign in',
    reply: ProtectedResourceDto,
    handler: protectedResource,
  }),
  route('GET', '/openapi.json', {
    auth: anonymous,
    summary: 'The OpenAPI document of all modules',
    reply: z.looseObject({ openapi: z.string() }),
    handler: sendWholeDocument,
  }),
]
