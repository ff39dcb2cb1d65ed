"""Renders a frame of --format gltf or pc2 by Cycles: blender -b -P blender.py -- FOLDER FRAME PICTURE.png"""
import os
import sys
import bpy
import numpy

numpy.bool = bool  # for the importer of glTF in Blender 3.4, with NumPy 1.24 and later

folder, frame, picture = sys.argv[sys.argv.index("--") + 1 :]
bpy.ops.wm.read_homefile(use_empty=True)
if os.path.exists(f"{folder}/surface.glb"):
    bpy.ops.import_scene.gltf(filepath=f"{folder}/surface.glb")
    tilt = 1.1
    bodies = [body for body in bpy.context.scene.objects if body.type == "MESH"]
else:
    bpy.ops.wm.obj_import(filepath=f"{folder}/surface.obj")
    tilt = 1.45
    bodies = bpy.context.selected_objects[:1]
    cache = bodies[0].modifiers.new("cache", "MESH_CACHE")
    cache.cache_format, cache.filepath, cache.frame_start = "PC2", f"{folder}/surface.pc2", 0
    bodies[0].modifiers.new("smooth", "SUBSURF").render_levels = 2
bpy.ops.object.light_add(type="SUN", rotation=(0.6, 0.4, 0.0))
bpy.context.object.data.energy = 2
bpy.ops.object.camera_add(rotation=(tilt, 0.0, 0.5))
scene = bpy.context.scene
scene.camera, scene.world = bpy.context.object, bpy.data.worlds.new("sky")
scene.world.color = (0.25, 0.27, 0.3)
scene.view_settings.view_transform = "Standard"
scene.frame_set(int(frame))
bpy.ops.object.select_all(action="DESELECT")
for body in bodies:
    body.select_set(True)
bpy.ops.view3d.camera_to_view_selected()
scene.render.engine, scene.cycles.samples, scene.cycles.use_denoising = "CYCLES", 64, False
scene.render.resolution_x, scene.render.resolution_y, scene.render.filepath = 800, 600, picture
bpy.ops.render.render(write_still=True)
