import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { z } from 'zod'
import { namedRecord } from '../http/namedRecord.ts'
import { type EncodedDocument, encodeDocument } from './encodedDocument.ts'

export const DocsManifestDto = namedRecord('DocsManifest', {
  module: z.string(),
  title: z.string(),
  version: z.string(),
  files: z.array(
    namedRecord('DocsFileEntry', { path: z.string(), title: z.string(), mediaType: z.string(), sizeBytes: z.int() }),
  ),
})
export type DocsManifestDto = z.output<typeof DocsManifestDto>

export const DocumentedModules = namedRecord('DocumentedModules', {
  version: z.string(),
  openApi: z.string().describe('The document of all modules, without a token'),
  modules: z.array(
    namedRecord('DocumentedModule', {
      module: z.string(),
      title: z.string(),
      manifest: z.string(),
      openApi: z.string(),
    }),
  ),
})
type DocumentedModules = z.output<typeof DocumentedModules>

/** Modules of the interface (section 4.1), with their titles and their pages in `docs/areas`. */
export const DOCUMENTED_MODULES: Readonly<Record<string, { title: string; areas: readonly string[] }>> = {
  'db-vector': { title: 'Vector databases', areas: ['vector', 'data', 'plans'] },
  'db-sql': { title: 'SQL instances', areas: ['sql', 'data', 'plans'] },
  'db-relational': { title: 'Relational databases', areas: ['relational', 'data', 'plans'] },
  containerinstances: {
    title: 'Container instances',
    areas: ['containerinstances', 'apps', 'builds', 'logs', 'files', 'plans'],
  },
  staticwebapps: { title: 'Static web apps', areas: ['staticwebapps'] },
  boundaries: { title: 'Boundaries', areas: ['boundaries', 'clusters', 'crosslink', 'network'] },
  secrets: { title: 'Secret vaults', areas: ['secrets', 'data'] },
  monitoring: { title: 'Monitoring', areas: ['monitoring'] },
  registry: { title: 'Registry', areas: ['registry'] },
  jobs: { title: 'Jobs', areas: ['jobs', 'logs'] },
  functions: { title: 'Functions', areas: ['functions', 'logs', 'plans'] },
  lifecycle: { title: 'Lifecycle', areas: ['lifecycle', 'platformbackups', 'rollouts'] },
  objectstorage: { title: 'Object storage', areas: ['objectstorage', 'data'] },
  blueprints: { title: 'Blueprints', areas: ['blueprints'] },
  'resource-groups': {
    title: 'Resource groups',
    areas: ['resourcegroups', 'activity', 'bugreports', 'clusters', 'sources'],
  },
  rbac: { title: 'Authorization, identity and administration', areas: ['rbac', 'identity', 'invitations', 'kubectl'] },
  'managed-identity': { title: 'Managed identities', areas: ['managedidentities'] },
}

export type DocumentationFile = {
  readonly path: string
  readonly title: string
  readonly mediaType: string
  readonly content: string
}

/** The documentation of each module. Only listed paths are served, so that no request can name a file on disk. */
export class Documentation {
  readonly #sources: ReadonlyMap<string, () => readonly DocumentationFile[]>
  readonly #modules = new Map<string, ReadonlyMap<string, DocumentationFile>>()
  readonly #encoded = new WeakMap<DocumentationFile, Promise<EncodedDocument>>()
  readonly #version: string

  /** @param files by module, called at its first request, because generating all documents takes a while */
  constructor(version: string, files: Readonly<Record<string, () => readonly DocumentationFile[]>>) {
    this.#version = version
    this.#sources = new Map(Object.entries(files))
  }

  modules(): DocumentedModules {
    const modules = [...this.#sources.keys()].map((module) => ({
      module,
      title: DOCUMENTED_MODULES[module]?.title ?? module,
      manifest: `/docs/${module}/manifest.json`,
      openApi: `/docs/${module}/openapi.json`,
    }))
    return { version: this.#version, openApi: '/openapi.json', modules }
  }

  /** Returns undefined for an unknown module. */
  manifest(module: string): DocsManifestDto | undefined {
    const files = this.#filesOf(module)
    if (files === undefined) return undefined
    return {
      module,
      title: DOCUMENTED_MODULES[module]?.title ?? module,
      version: this.#version,
      files: Array.from(files.values(), ({ path, title, mediaType, content }) => ({
        path,
        title,
        mediaType,
        sizeBytes: Buffer.byteLength(content),
      })),
    }
  }

  file(module: string, path: string): DocumentationFile | undefined {
    return this.#filesOf(module)?.get(path)
  }

  /** Encodes a file at the first request. */
  encoded(file: DocumentationFile): Promise<EncodedDocument> {
    const known = this.#encoded.get(file)
    if (known !== undefined) return known
    const made = encodeDocument(file.content)
    this.#encoded.set(file, made)
    return made
  }

  #filesOf(module: string): ReadonlyMap<string, DocumentationFile> | undefined {
    const known = this.#modules.get(module)
    const source = this.#sources.get(module)
    if (known !== undefined || source === undefined) return known
    const files = new Map(source().map((file) => [file.path, file]))
    this.#modules.set(module, files)
    return files
  }
}

/**
 * Loads the pages of a folder, each once. Missing pages are left out.
 * @param folder of the area pages, `docs/areas`
 * @param openApiOf the OpenAPI document of one module, or undefined if it has no routes
 */
export function loadDocumentation(
  folder: string,
  version: string,
  openApiOf: (module: string) => object | undefined,
): Documentation {
  const present = new Set(readdirSync(folder))
  const filesOf = (module: string, areas: readonly string[]): DocumentationFile[] => {
    const pages = areas.filter((area) => present.has(`${area}.md`)).map((area) => readPage(folder, `${area}.md`))
    const openApi = openApiOf(module)
    if (openApi === undefined) return pages
    const content = JSON.stringify(openApi)
    return [...pages, { path: 'openapi.json', title: 'OpenAPI document', mediaType: 'application/json', content }]
  }
  const modules = Object.entries(DOCUMENTED_MODULES).map(([module, { areas }]) => [
    module,
    () => filesOf(module, areas),
  ])
  return new Documentation(version, Object.fromEntries(modules))
}

function readPage(folder: string, path: string): DocumentationFile {
  const content = readFileSync(join(folder, path), 'utf8')
  const title = /^#\s+(.+)$/m.exec(content)?.[1] ?? path
  return { path, title, mediaType: 'text/markdown; charset=utf-8', content }
}
