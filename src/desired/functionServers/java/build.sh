#!/bin/sh
# Builds a function in Java: a project of Maven with what it depends on, or plain sources without dependencies.
set -e
if [ -f pom.xml ]; then
  mvn -B -DskipTests package dependency:copy-dependencies -DincludeScope=runtime -DoutputDirectory=/out/lib
else
  mkdir -p build/classes build/libs
  find . -name '*.java' | sed 's/.*/"&"/' >build/sources
  javac -d build/classes @build/sources
  jar --create --file build/libs/function.jar -C build/classes .
fi
