import { StaticWebApp } from '../../../src/crds/staticwebapps.ts'
import { cases, fixed, ID, type RuleCase, TAGS } from './case.ts'

const IMAGE = 'docker.io/nginxinc/nginx-unprivileged:1.29'
const REPOSITORY = { image: undefined, repositoryUrl: 'https://git.example.com/team/site' }
const EITHER = 'either repositoryUrl or image must be set, and not both'
const PUBLIC = 'proxyUrl must name a host that is reachable from the Internet'
const HEADERS =
  'the name of a header must be letters, digits and hyphens, and none of cache-control, connection, content-encoding, content-length, content-range, content-type, date, etag, keep-alive, last-modified, location, server, trailer, transfer-encoding, upgrade, vary'
const now = '2026-11-22T12:00:00Z'

export const SITE_RULES: readonly RuleCase[] = cases(StaticWebApp, { image: IMAGE }, [
  ['a tag of Kubernetes', undefined, { tags: { 'kubernetes.io/x': '1' } }, TAGS],
  [
    'a site of a repository with all fields',
    undefined,
    {
      ...REPOSITORY,
      deploymentSourceId: ID,
      headers: { 'X-Frame-Options': 'DENY' },
      proxyUrl: 'https://api.example.com/v1',
      deploy: { requestedAt: now, commit: 'a'.repeat(40) },
    },
  ],
  ['a change from an image to a repository', {}, REPOSITORY],
  ['another cluster', { clusterId: ID }, { clusterId: undefined }, fixed('clusterId')],
  ['a site without image and repository', undefined, { image: undefined }, EITHER],
  ['a site with image and repository', undefined, { repositoryUrl: REPOSITORY.repositoryUrl }, EITHER],
  ['a source without a repository', undefined, { deploymentSourceId: ID }, 'deploymentSourceId needs repositoryUrl'],
  [
    'a build with an image',
    undefined,
    { deploy: { requestedAt: now } },
    'deploy needs repositoryUrl: it builds what is in a repository',
  ],
  ['a proxy to the cluster', undefined, { proxyUrl: 'https://kubernetes.default.svc/x' }, PUBLIC],
  ['a proxy to an internal name', undefined, { proxyUrl: 'https://db.corp:8443' }, PUBLIC],
  ['a header that the server sets', undefined, { headers: { 'content-Length': '1' } }, HEADERS],
  ['a header name with a semicolon', undefined, { headers: { 'a;b': '1' } }, HEADERS],
  [
    'headers of more than 12000 characters',
    undefined,
    { headers: Object.fromEntries(Array.from({ length: 6 }, (_, index) => [`X-${index}`, 'x'.repeat(2048)])) },
    'headers must have at most 12000 characters together',
  ],
])
