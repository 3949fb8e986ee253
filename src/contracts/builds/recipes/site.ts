import { SITE_FILES } from '../../staticwebapps/configuration.ts'
import { SITE_CONFIGURATION, START_FILE } from '../../staticwebapps/start.ts'
import { nothingToBuild } from '../files.ts'
import { runtimeNamed } from '../runtimes.ts'
import { type RecipeInput, runWithVariables } from './dockerfile.ts'
import { buildOfNode } from './node.ts'

/**
 * Writes the Dockerfile of a site behind nginx: a folder that the build leaves, or the files as they are.
 *
 * @param outputPath relative to the root of the source
 */
export function siteDockerfile(input: RecipeInput, outputPath: string | undefined): string {
  const { files, runtime, version, buildCommand, port } = input
  const withPackages = runtime.name !== 'static' && files.paths.has('package.json')
  const isBuilt = withPackages || buildCommand !== undefined
  if (!isBuilt && !files.paths.has('index.html') && outputPath === undefined) {
    throw nothingToBuild(
      'There is neither a package.json to build a site from, nor an index.html. Check the folder, which rootPath of an app names.',
    )
  }
  const folder = (outputPath ?? (isBuilt ? 'dist' : '.')).replace(/^\/+|\/+$/g, '') || '.'
  const server = runtimeNamed('static')?.versions[0]?.runImage
  const built = withPackages
    ? buildOfNode(input, { isPruned: false })
    : ['COPY . .', ...runWithVariables(buildCommand ?? '', input)]
  return [
    '# A site behind nginx. Keep a copy as Dockerfile to change it.',
    ...(isBuilt ? [`FROM ${version.builderImage} AS build`, 'WORKDIR /app', ...built, ''] : []),
    `FROM ${server}`,
    `COPY --from=server ${SITE_CONFIGURATION} ${START_FILE} /etc/nginx/`,
    isBuilt
      ? `COPY --from=build ${JSON.stringify([`/app/${folder}/`, `${SITE_FILES}/`])}`
      : `COPY ${JSON.stringify([`${folder}/`, `${SITE_FILES}/`])}`,
    'USER 65532:65532',
    `EXPOSE ${port}`,
    `CMD ["/bin/sh", "/etc/nginx/${START_FILE}"]`,
    '',
  ].join('\n')
}
