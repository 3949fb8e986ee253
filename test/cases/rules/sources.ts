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
const SSH = 'ssh is for provider Git only'
const NO_CIRCUIT = 'circuit is for provider Circuit only'
const OWN_CREDENTIALS = 'the platform makes the credentials of a Circuit'
const INSTALLATIONS = 'only GitHub has installations'
const SET_ONCE = 'installationId cannot be changed once it is set'

export const SOURCE_RULES: readonly RuleCase[] = cases(DeploymentSource, GIT, [
  ['admits Git with a Secret', undefined, {}],
  ['admits Git over ssh', undefined, { baseUrl: 'ssh://git@git.example.com/shop.git' }],
  ['admits a GitHub App that is to come', undefined, GITHUB],
  ['admits a Circuit', undefined, { ...CIRCUIT, circuit: {} }],
  ['admits another name and other credentials', {}, { displayName: 'Store', credentials: { secretName: 'store' } }],
  ['admits the installation of an App', GITHUB, { ...GITHUB, installationId: '1' }],
  ['refuses Git without credentials', undefined, { credentials: undefined }, NEEDED],
  ['refuses ssh elsewhere', undefined, { provider: 'Gitea', baseUrl: 'ssh://git@git.example.com/shop.git' }, SSH],
  ['refuses settings of a Circuit elsewhere', undefined, { circuit: {} }, NO_CIRCUIT],
  ['refuses credentials of a Circuit', undefined, { provider: 'Circuit' }, OWN_CREDENTIALS],
  ['refuses an installation elsewhere', undefined, { installationId: '1' }, INSTALLATIONS],
  ['refuses another installation', { ...GITHUB, installationId: '1' }, { ...GITHUB, installationId: '2' }, SET_ONCE],
  ['refuses another provider', {}, { provider: 'Gitea' }, fixed('provider')],
  ['refuses another address: the credentials would go there', {}, { baseUrl: 'https://b.example' }, fixed('baseUrl')],
  ['refuses another organization', {}, { organization: 'acme' }, fixed('organization')],
  ['refuses another user', {}, { username: 'acme' }, fixed('username')],
])
