import { ComponentInstall, ComponentRelease, PlatformComponent } from '../../../src/crds/lifecycle.ts'
import { cases, fixed, type RuleCase } from './case.ts'

const CHART = { name: 'shop', url: 'oci://charts.example.com/shop' }
const COMPONENT = { title: 'Shop', kind: 'Module' }
const RELEASE = { component: 'shop', version: '1.0.0', digest: `sha256:${'a'.repeat(64)}` }

export const LIFECYCLE_RULES: readonly RuleCase[] = [
  ...cases(PlatformComponent, COMPONENT, [
    ['a version of a chart', undefined, { chart: CHART, version: '1.0.0' }],
    ['a version without a chart', undefined, { version: '1.0.0' }, 'a version needs a chart to install it from'],
    ['another kind', {}, { kind: 'CrdBundle' }, fixed('kind')],
  ]),
  ...cases(ComponentRelease, RELEASE, [
    ['an added notesUrl', {}, { notesUrl: 'https://example.com/notes' }],
    ['another component', {}, { component: 'other' }, fixed('component')],
    ['another version', {}, { version: '1.0.1' }, fixed('version')],
    ['another digest', {}, { digest: `sha256:${'b'.repeat(64)}` }, fixed('digest')],
  ]),
  ...cases(ComponentInstall, { component: 'shop' }, [
    ['a request to resume', {}, { requests: { resumeAt: '2026-01-01T00:00:00Z' } }],
    ['another component', {}, { component: 'other' }, fixed('component')],
    ['another kind', {}, { kind: 'Repair' }, fixed('kind')],
    ['an added version', {}, { version: '1.0.0' }, fixed('version')],
    ['another startedBy', {}, { startedBy: 'me' }, fixed('startedBy')],
  ]),
]
