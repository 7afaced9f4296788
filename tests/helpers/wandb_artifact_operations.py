"""Artifacts on the W&B server of the tests."""

from __future__ import annotations

from typing import Any

from tests.helpers.wandb_state import NOW, State, identifier, operation, project_of


@operation("CreateArtifact")
def _create_artifact(state: State, variables: dict[str, Any], base: str) -> dict[str, Any]:
    asked = variables["input"]
    name = identifier("Artifact", len(state.artifacts) + 1)
    aliases = [alias["alias"] for alias in asked.get("aliases") or []]
    state.artifacts[name] = {
        "name": asked["artifactCollectionName"],
        "type": asked["artifactTypeName"],
        "run": asked.get("runName"),
        "aliases": aliases,
        "files": [],
        "state": "PENDING",
    }
    artifact = {"id": name, "state": "PENDING", "artifactSequence": {"latestArtifact": None}}
    return {"createArtifact": {"artifact": artifact}}


@operation("CreateArtifactManifest", "UpdateArtifactManifest")
def _manifest(state: State, variables: dict[str, Any], base: str) -> dict[str, Any]:
    name = variables.get("artifactID") or variables["artifactManifestID"]
    file = {
        "id": identifier("File", name),
        "uploadUrl": f"{base}/upload/manifest",
        "uploadHeaders": [],
    }
    key = "createArtifactManifest" if "artifactID" in variables else "updateArtifactManifest"
    return {key: {"artifactManifest": {"id": name, "file": file}}}


@operation("CreateArtifactFiles")
def _artifact_files(state: State, variables: dict[str, Any], base: str) -> dict[str, Any]:
    asked = variables.get("artifactFiles") or variables["input"]["artifactFiles"]
    edges = []
    for file in asked:
        artifact, name = file["artifactID"], file["name"]
        state.artifacts[artifact]["files"].append(name)
        node = {
            "storagePath": name,
            "uploadUrl": f"{base}/upload/artifact/{artifact}/{name}",
            "uploadHeaders": [],
            "uploadMultipartUrls": None,
            "artifact": {"id": artifact},
        }
        edges.append({"node": node})
    return {"createArtifactFiles": {"files": {"edges": edges}}}


@operation("CommitArtifact")
def _commit_artifact(state: State, variables: dict[str, Any], base: str) -> dict[str, Any]:
    state.artifacts[variables["artifactID"]]["state"] = "COMMITTED"
    return {"commitArtifact": {"artifact": {"id": variables["artifactID"], "digest": "d"}}}


@operation("ArtifactType")
def _artifact_type(state: State, variables: dict[str, Any], base: str) -> dict[str, Any]:
    return {"project": {"artifact": None}}


@operation("ArtifactByID")
def _artifact(state: State, variables: dict[str, Any], base: str) -> dict[str, Any]:
    known = state.artifacts[variables["id"]]
    project = {
        **project_of({"name": "gymnasium-solver"}),
        "internalId": identifier("ProjectInternal", 1),
    }
    artifact = {
        "__typename": "Artifact",
        "id": variables["id"],
        "artifactSequence": {
            "__typename": "ArtifactSequence",
            "name": known["name"],
            "project": project,
        },
        "versionIndex": list(state.artifacts).index(variables["id"]),
        "artifactType": {"name": known["type"]},
        "ttlDurationSeconds": -2,
        "ttlIsInherited": True,
        "tags": [],
        "state": known["state"],
        "size": 1,
        "digest": "d",
        "fileCount": len(known["files"]),
        "createdAt": NOW,
        "aliases": [],
    }
    absent = ("description", "metadata", "historyStep", "commitHash", "updatedAt")
    return {"artifact": artifact | dict.fromkeys(absent)}
