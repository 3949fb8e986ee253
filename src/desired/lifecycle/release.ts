import { z } from 'zod'
import { ComponentRelease } from '../../crds/lifecycle.ts'

/** Prefix of chart annotations with an upgrade's requirements. Helm copies them from Chart.yaml into the manifest. */
export const RELEASE_ANNOTATION = 'lifecycle.freehold.dev/'

type Found = Pick<ComponentRelease['spec'], 'version' | 'digest' | 'isSigned'> & {
  annotations: Readonly<Record<string, string>>
}

const { shape } = ComponentRelease.spec
const isTrue = (text: string | undefined) => text === 'true'

/**
 * Reads what a chart declares about itself. Its publisher writes that, so invalid values are ignored, except for those
 * that would hold back a rollout: they count as set.
 */
export function releaseSpec(component: string, { annotations, ...known }: Found): ComponentRelease['spec'] {
  const annotationOf = (name: string) => annotations[`${RELEASE_ANNOTATION}${name}`]
  const field = <Schema extends z.ZodType>(schema: Schema, value: unknown): z.output<Schema> | undefined =>
    schema.safeParse(value).data
  const requiredValues = field(shape.requiredValues, listOf(annotationOf('required-values')))
  const pins = field(shape.pins, Object.fromEntries(listOf(annotationOf('pins')).map(pairOf)))
  const breaking = annotationOf('schema-breaking')
  return {
    component,
    ...known,
    publishedAt: field(shape.publishedAt, annotations['org.opencontainers.image.created']),
    notesUrl: field(HttpsUrl, annotationOf('notes-url') ?? annotations['org.opencontainers.image.url']),
    isSchemaBreaking: breaking !== undefined && breaking !== 'false',
    migratesDatabase: isTrue(annotationOf('migrates-database')),
    minimumFromVersion: field(shape.minimumFromVersion, annotationOf('minimum-from-version')),
    requiredMinor: field(shape.requiredMinor, annotationOf('required-minor')),
    crdBundleVersion: field(shape.crdBundleVersion, annotationOf('crd-bundle-version')),
    minimumOperatorVersion: field(shape.minimumOperatorVersion, annotationOf('minimum-operator-version')),
    requiredValues: requiredValues ?? [],
    pins: pins ?? {},
  }
}

const HttpsUrl = z.url({ protocol: /^https?$/ }).max(2048)

function listOf(text = ''): string[] {
  return text
    .split(',')
    .map((part) => part.trim())
    .filter((part) => part !== '')
}

/** `component=version`. */
function pairOf(text: string): [string, string] {
  const [name = '', version = ''] = text.split('=')
  return [name.trim(), version.trim()]
}
