/**
 * The blueprints that every platform offers, stored in freehold-system. Each is written as people would write it, with
 * a backslash before each `$` that begins an expression.
 */
export const DEFAULT_BLUEPRINTS: readonly string[] = [
  `format: 1
slug: vector-database
name: Vector database
version: 1.0.0
description: A Qdrant cluster with an API key.
category: Ai
icon: database
parameters:
  - { name: plan, type: plan, family: Vector, title: Size, default: vector-dev }
  - { name: replicas, type: integer, title: Copies, default: 1, minimum: 1, maximum: 9 }
components:
  - name: vectors
    collection: vectorclusters
    resourceName: \${deploy.name}
    spec:
      computePlan: \${parameters.plan}
      replicas: \${parameters.replicas}
outputs:
  - { name: endpoint, component: vectors, output: restEndpoint }
  - { name: apiKey, component: vectors, output: apiKey, secret: true }
`,
  `format: 1
slug: web-with-database
name: Web application with a database
version: 1.0.0
description: An app of an image, and a PostgreSQL database whose address it is given as DATABASE_URL.
category: Web
icon: globe
parameters:
  - { name: image, type: string, title: Image, default: "docker.io/nginxinc/nginx-unprivileged:1.29", maxLength: 255 }
  - { name: port, type: integer, title: Port, default: 8080, minimum: 1, maximum: 65535 }
  - { name: plan, type: plan, family: App, title: Size of the app, default: app-small }
  - { name: databasePlan, type: plan, family: Relational, title: Size of the database, default: relational-dev }
components:
  - name: db
    collection: relationalclusters
    resourceName: \${deploy.name}-db
    spec:
      computePlan: \${parameters.databasePlan}
  - name: web
    collection: apps
    resourceName: \${deploy.name}
    spec:
      sourceKind: Image
      image: \${parameters.image}
      port: \${parameters.port}
      computePlan: \${parameters.plan}
      env:
        - { name: DATABASE_URL, output: { component: db, output: connectionString } }
outputs:
  - { name: url, component: web, output: publicUrl }
  - { name: database, component: db, output: connectionString, secret: true }
`,
  `format: 1
slug: static-site
name: Static site
version: 1.0.0
description: A site of an image that serves files on port 8080.
category: Web
icon: file
parameters:
  - { name: image, type: string, title: Image, default: "docker.io/nginxinc/nginx-unprivileged:1.29", maxLength: 255 }
components:
  - name: site
    collection: staticwebapps
    resourceName: \${deploy.name}
    spec:
      image: \${parameters.image}
outputs:
  - { name: url, component: site, output: publicUrl }
`,
  `format: 1
slug: container-with-volume
name: Container with a volume
version: 1.0.0
description: One container of an image whose files under /data outlive it.
category: Tools
icon: box
parameters:
  - { name: image, type: string, title: Image, default: "docker.io/nginxinc/nginx-unprivileged:1.29", maxLength: 255 }
  - { name: port, type: integer, title: Port, default: 8080, minimum: 1025, maximum: 65535 }
  - { name: size, type: choice, title: Size of the volume, default: 1Gi, choices: [1Gi, 10Gi, 50Gi] }
  - { name: plan, type: plan, family: ContainerInstance, title: Size of the container, default: container-small }
components:
  - name: server
    collection: containerinstances
    resourceName: \${deploy.name}
    spec:
      computePlan: \${parameters.plan}
      components:
        - name: main
          image: \${parameters.image}
          ports:
            - { name: http, port: "\${parameters.port}" }
          mounts:
            - { volume: data, path: /data }
      volumes:
        - { name: data, kind: Persistent, size: "\${parameters.size}" }
`,
  `format: 1
slug: function-namespace
name: Functions
version: 1.0.0
description: A namespace for functions, and a first one that answers at /hello once it has a source.
category: Web
icon: function
parameters:
  - { name: runtime, type: choice, title: Runtime, default: nodejs, choices: [nodejs, python] }
components:
  - name: namespace
    collection: functionnamespaces
    resourceName: \${deploy.name}
    spec:
      runtime: \${parameters.runtime}
  - name: hello
    collection: functions
    resourceName: hello
    spec:
      namespaceName: \${components.namespace.name}
      handler: index
      triggers:
        - { name: web, kind: Http, path: /hello, authLevel: Anonymous }
outputs:
  - { name: url, component: namespace, output: publicUrl }
`,
  `format: 1
slug: object-storage
name: Object storage with a key
version: 1.0.0
description: An account for S3, one bucket, and an access key that reads and writes it.
category: Storage
icon: bucket
parameters:
  - { name: bucket, type: string, title: Bucket, default: files, pattern: "[a-z0-9][a-z0-9-]{1,40}[a-z0-9]" }
components:
  - name: account
    collection: objectstorageaccounts
    resourceName: \${deploy.name}
  - name: bucket
    collection: buckets
    resourceName: \${parameters.bucket}
    spec:
      accountName: \${components.account.name}
  - name: key
    collection: accesskeys
    resourceName: \${deploy.name}
    dependsOn: [bucket]
    spec:
      accountName: \${components.account.name}
      permission: ReadWrite
      buckets: ["\${components.bucket.name}"]
outputs:
  - { name: endpoint, component: account, output: endpoint }
  - { name: accessKeyId, value: "\${components.key.accessKeyId}" }
`,
  `format: 1
slug: secret-vault
name: Secret vault with a password
version: 1.0.0
description: A vault, and in it a password that nobody has to think up.
category: Tools
icon: key
parameters:
  - { name: secretName, type: string, title: Name of the secret, default: password, pattern: "[A-Za-z0-9][A-Za-z0-9-]{0,60}" }
  - { name: password, type: generated, length: 32 }
components:
  - name: vault
    collection: secretvaults
    resourceName: \${deploy.name}
  - name: password
    collection: secrets
    resourceName: \${parameters.secretName}
    spec:
      vaultName: \${components.vault.name}
      value: \${parameters.password}
`,
]
