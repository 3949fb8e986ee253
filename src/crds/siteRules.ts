import { vetOutgoingUrl } from '../core/outgoingUrl.ts'
import { deployRule, sourceAdmission, sourceRule } from './codeFields.ts'
import type { AdmissionRule, Rule } from './define.ts'
import { countCharacters } from './environment.ts'
import { mapKeysRule } from './mapRules.ts'
import { tagKeyRule } from './tags.ts'

/** The fields of a static web app that its rules check. */
type Site = {
  repositoryUrl?: string | undefined
  deploymentSourceId?: string | undefined
  image?: string | undefined
  proxyUrl?: string | undefined
  headers: Record<string, string>
  deploy?: object | undefined
  tags: Record<string, string>
}

/** Headers that the web server sets itself: of the connection, of the body, and those with a field of their own. */
const SERVER_HEADERS = [
  'cache-control',
  'connection',
  'content-encoding',
  'content-length',
  'content-range',
  'content-type',
  'date',
  'etag',
  'keep-alive',
  'last-modified',
  'location',
  'server',
  'trailer',
  'transfer-encoding',
  'upgrade',
  'vary',
]
/** Maximum characters: even if all of them are quoted, the configuration fits into one variable. */
const MAX_HEADERS_CHARACTERS = 12_000
const HEADER = /^[A-Za-z0-9-]{1,64}$/

export const siteRules: readonly Rule<Site>[] = [
  tagKeyRule,
  sourceRule,
  {
    cel: 'has(self.repositoryUrl) != has(self.image)',
    message: 'either repositoryUrl or image must be set, and not both',
    field: 'image',
    test: ({ repositoryUrl, image }) => (repositoryUrl === undefined) !== (image === undefined),
  },
  deployRule,
  {
    cel: "!has(self.proxyUrl) || !self.proxyUrl.matches('^https://([^/:]*[.])?(localhost|local|internal|intranet|lan|home|corp|svc|home[.]arpa|localdomain)(:|/|$)')",
    message: 'proxyUrl must name a host that is reachable from the Internet',
    code: 'URL_NOT_ALLOWED',
    field: 'proxyUrl',
    test: ({ proxyUrl }) => proxyUrl === undefined || vetOutgoingUrl(proxyUrl).isAllowed,
  },
  {
    cel: `self.headers.map(name, size(name) + size(self.headers[name])).sum() <= ${MAX_HEADERS_CHARACTERS}`,
    message: `headers must have at most ${MAX_HEADERS_CHARACTERS} characters together`,
    field: 'headers',
    test: ({ headers }) => countCharacters(Object.entries(headers).flat()) <= MAX_HEADERS_CHARACTERS,
  },
  mapKeysRule('headers', {
    cel: `k.matches('^[A-Za-z0-9-]{1,64}$') && !(k.lowerAscii() in [${SERVER_HEADERS.map((name) => `'${name}'`).join(', ')}])`,
    message: `the name of a header must be letters, digits and hyphens, and none of ${SERVER_HEADERS.join(', ')}`,
    test: (name) => HEADER.test(name) && !SERVER_HEADERS.includes(name.toLowerCase()),
  }),
]

export const siteAdmission: readonly AdmissionRule[] = [sourceAdmission]
