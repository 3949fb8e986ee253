import { sourceTemplateName } from '../../contracts/blueprints/catalogue.ts'
import { TEMPLATES_OF_A_SOURCE } from '../../contracts/blueprints/repository.ts'
import { TEMPLATE_PATH_ANNOTATION } from '../../core/labels.ts'
import type { BlueprintSource } from '../../crds/blueprintSources.ts'
import { BlueprintTemplate } from '../../crds/blueprints.ts'
import type { JudgedFiles } from '../../desired/catalogue.ts'
import type { Pass } from '../engine/controller.ts'

/**
 * Writes what is valid and removes what is gone. A file that is no longer valid leaves the template of before where it is,
 * until it is mended or gone: a slip of the pen takes nothing from those who deploy.
 *
 * @returns how many templates there are then
 */
export async function keepAsRead(
  pass: Pass<typeof BlueprintSource>,
  { templates, invalid }: JudgedFiles,
): Promise<number> {
  const { name: sourceId, namespace = '' } = pass.object.metadata
  const { apiVersion, kind, resource } = BlueprintTemplate
  const broken = new Set(invalid.map(({ path }) => path))
  const valid = new Set(templates.map(({ slug }) => sourceTemplateName(slug, sourceId)))
  const kept = pass.recordChildren
    .owned(resource)
    .filter(({ metadata }) => broken.has(metadata.annotations?.[TEMPLATE_PATH_ANNOTATION] ?? ''))
    .map(({ metadata }) => metadata.name)
    .filter((name) => !valid.has(name))
    .slice(0, TEMPLATES_OF_A_SOURCE - valid.size)
  for (const { slug, path, content } of templates) {
    const annotations = { [TEMPLATE_PATH_ANNOTATION]: path }
    const metadata = { name: sourceTemplateName(slug, sourceId), namespace, annotations }
    await pass.recordChildren.ensure({ apiVersion, kind, metadata, spec: { slug, content, sourceId } }, { resource })
  }
  const names = [...valid, ...kept]
  await pass.recordChildren.prune(resource, names)
  return names.length
}
