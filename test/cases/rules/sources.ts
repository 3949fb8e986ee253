import { DeploymentSource } from '../../../src/crds/sources.ts'
import { cases, fixed, type RuleCase } from './case.ts'

const GIT = {
  provider: 'Git',
  displayName: 'Shop',
  baseUrl: 'https://git.example.com/shop.git',
  credentials: { secretName: 'shop' },
}
const GITHUB = { provider: 'GitHub', credentials: undefined }
const CIRCUIT = { provider: 'Circuit', credentials: undefined }

const NEEDED = 'credentials are required for this provider'
const WORKSPACE = 'organization is required for Bitbucket: it is the workspace'
const SSH = 'ssh is for provider Git only'
const NO_CIRCUIT = 'circuit is for provider Circuit only'
const OWN_CREDENTIALS = 'the platform makes the credentials of a Circuit'
const INSTALLATIONS = 'only GitHub has installations'
const SET_ONCE = 'installationId cannot be changed once it is set'

export const SOURCE_RULES: readonly RuleCase[] = cases(DeploymentSource, GIT, [
  ['Git with a Secret', undefined, {}],
  ['Git over ssh', undefined, { baseUrl: 'ssh://git@git.example.com/shop.git' }],
  ['a GitHub App without an installation', undefined, GITHUB],
  ['a Circuit', undefined, { ...CIRCUIT, circuit: {} }],
  ['another name and other credentials', {}, { displayName: 'Store', credentials: { secretName: 'store' } }],
  ['the first installation of an App', GITHUB, { ...GITHUB, installationId: '1' }],
  ['Git without credentials', undefined, { credentials: undefined }, NEEDED],
  ['Bitbucket with a workspace', undefined, { provider: 'Bitbucket', organization: 'acme' }],
  ['Bitbucket without a workspace', undefined, { provider: 'Bitbucket' }, WORKSPACE],
  ['ssh with another provider', undefined, { provider: 'Gitea', baseUrl: 'ssh://git@git.example.com/shop.git' }, SSH],
  ['settings of a Circuit with another provider', undefined, { circuit: {} }, NO_CIRCUIT],
  ['credentials of a Circuit', undefined, { provider: 'Circuit' }, OWN_CREDENTIALS],
  ['an installation with another provider', undefined, { installationId: '1' }, INSTALLATIONS],
  ['another installation', { ...GITHUB, installationId: '1' }, { ...GITHUB, installationId: '2' }, SET_ONCE],
  ['another provider', {}, { provider: 'Gitea' }, fixed('provider')],
  ['another address, which would receive the credentials', {}, { baseUrl: 'https://b.example' }, fixed('baseUrl')],
  ['another organization', {}, { organization: 'acme' }, fixed('organization')],
  ['another user', {}, { username: 'acme' }, fixed('username')],
])
